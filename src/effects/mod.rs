//! What is owed to the world: one function an effect.
