//! Programs whose first words say what they do: one row for each verb that destroys or stops.
//!
//! `|` parts words that mean the same here, `*` is any one word, `**` any number of words.

use super::{Found, excerpt};
use crate::approval::glob;
use crate::approval::reading::{Invocation, base_name};
use crate::approval::word::Field;

/// One verb.
struct Verb {
    programs: &'static [&'static str],
    words: &'static str,
    /// One of these options makes it dangerous; none: it always is.
    options: &'static [&'static str],
    rule: &'static str,
    /// What it does, after "It".
    does: &'static str,
}

const fn verb(
    programs: &'static [&'static str],
    words: &'static str,
    rule: &'static str,
    does: &'static str,
) -> Verb {
    Verb { programs, words, options: &[], rule, does }
}

const fn with(
    programs: &'static [&'static str],
    words: &'static str,
    options: &'static [&'static str],
    rule: &'static str,
    does: &'static str,
) -> Verb {
    Verb { programs, words, options, rule, does }
}

const DOCKER: &[&str] = &["docker", "podman", "nerdctl"];
const COMPOSE: &[&str] = &["docker-compose", "podman-compose"];
const KUBE: &[&str] = &["kubectl", "oc", "k3s", "kubectl.exe", "microk8s"];
const TERRAFORM: &[&str] = &["terraform", "tofu", "terragrunt", "cdktf"];
const APT: &[&str] =
    &["apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "snap", "flatpak", "opkg", "port", "nala"];
const LIFECYCLE: &str = "container-lifecycle";
const STOPS: &str = "stops or removes containers and what runs in them";

#[rustfmt::skip]
const VERBS: &[Verb] = &[
    // Containers.
    verb(DOCKER, "restart|stop|kill|rm|rmi", LIFECYCLE, STOPS),
    verb(DOCKER, "compose restart|stop|kill|down|rm", LIFECYCLE, STOPS),
    verb(COMPOSE, "restart|stop|kill|down|rm", LIFECYCLE, STOPS),
    verb(DOCKER, "container|image|volume|network|context|secret|config|service|stack|pod|machine|manifest|buildx rm|remove|prune|stop|kill|restart", LIFECYCLE, STOPS),
    verb(DOCKER, "system|builder prune|reset", LIFECYCLE, "deletes containers, images and volumes that nobody uses now"),
    verb(DOCKER, "swarm leave", LIFECYCLE, STOPS),
    with(DOCKER, "run|create|exec|container **", &["--privileged"], "privileged-container", "starts a container with all of the machine's powers"),
    verb(&["kubectl", "oc"], "drain", "cluster-delete", "takes a node out of service"),
    verb(KUBE, "delete", "cluster-delete", "deletes from a cluster"),
    verb(KUBE, "kubectl delete|drain", "cluster-delete", "deletes from a cluster"),
    with(KUBE, "scale", &["--replicas=0"], "cluster-delete", "stops what runs in a cluster"),
    with(KUBE, "replace", &["--force"], "cluster-delete", "deletes from a cluster before it replaces"),
    with(KUBE, "apply", &["--prune"], "cluster-delete", "deletes from a cluster what is not named"),
    verb(KUBE, "rollout undo|restart", "cluster-restart", "restarts what runs in a cluster"),
    verb(&["helm", "helmfile"], "uninstall|delete|del|un|destroy", "cluster-delete", "uninstalls from a cluster"),
    verb(&["helm"], "rollback", "cluster-restart", "puts an older release into a cluster"),
    verb(&["argocd", "flux", "kustomize", "kops", "eksctl", "kind", "minikube", "k3d", "istioctl", "velero"], "** delete|uninstall|destroy", "cluster-delete", "deletes a cluster, or from one"),
    verb(&["nomad"], "** stop|purge|delete", "cluster-delete", "stops what runs in a cluster"),
    // Infrastructure as code.
    verb(TERRAFORM, "destroy", "infrastructure-destroy", "destroys infrastructure"),
    with(TERRAFORM, "apply", &["-auto-approve", "--auto-approve", "-destroy", "--destroy"], "infrastructure-destroy", "changes infrastructure without looking at the plan"),
    verb(TERRAFORM, "state rm|push", "infrastructure-destroy", "forgets infrastructure that goes on existing"),
    verb(TERRAFORM, "workspace delete", "infrastructure-destroy", "deletes a workspace"),
    verb(TERRAFORM, "run-all|run|stack destroy", "infrastructure-destroy", "destroys infrastructure"),
    verb(&["pulumi"], "destroy|down", "infrastructure-destroy", "destroys infrastructure"),
    verb(&["pulumi"], "stack rm", "infrastructure-destroy", "deletes a stack"),
    verb(&["cdk", "sst", "copilot"], "** destroy|delete", "infrastructure-destroy", "destroys infrastructure"),
    verb(&["serverless", "sls"], "remove", "infrastructure-destroy", "destroys a deployment"),
    verb(&["sam", "amplify", "eb", "chalice"], "** delete|terminate", "infrastructure-destroy", "destroys a deployment"),
    verb(&["vagrant"], "destroy", "infrastructure-destroy", "deletes a machine"),
    verb(&["virsh"], "destroy|undefine|shutdown|vol-delete|pool-delete|snapshot-delete", "infrastructure-destroy", "stops or deletes a machine"),
    verb(&["multipass", "lima", "limactl", "colima", "orb", "incus", "lxc"], "delete|purge|stop|remove", "infrastructure-destroy", "stops or deletes a machine"),
    verb(&["vboxmanage"], "unregistervm|controlvm|closemedium", "infrastructure-destroy", "stops or deletes a machine"),
    verb(&["packer", "ansible-galaxy"], "** delete", "infrastructure-destroy", "deletes"),
    // Clouds.
    with(&["aws"], "s3 rm", &["--recursive"], "cloud-delete", "deletes every object below a place"),
    verb(&["aws"], "s3 rb", "cloud-delete", "deletes a bucket"),
    with(&["aws"], "s3 sync|mv", &["--delete"], "cloud-delete", "deletes objects that are not here"),
    verb(&["aws"], "* delete-*|terminate-*|deregister-*|purge-*|remove-*|stop-*|reboot-*|schedule-key-deletion|disable-*|empty-*|detach-*|release-*|revoke-*", "cloud-delete", "deletes or stops in the cloud"),
    verb(&["gcloud", "gcloud.cmd"], "** delete|purge|stop|reset|remove-iam-policy-binding|destroy", "cloud-delete", "deletes or stops in the cloud"),
    with(&["gsutil", "s3cmd", "mc", "b2", "rclone"], "rm|del|delete|rb|purge|deletefile|rmdirs|cleanup", &[], "cloud-delete", "deletes objects in the cloud"),
    verb(&["gcloud"], "storage rm", "cloud-delete", "deletes objects in the cloud"),
    with(&["gsutil", "rclone", "s3cmd"], "rsync|sync", &["-d", "--delete", "--delete-removed", "sync"], "cloud-delete", "deletes objects that are not here"),
    verb(&["az"], "** delete|purge|deallocate|stop|restart", "cloud-delete", "deletes or stops in the cloud"),
    verb(&["doctl", "hcloud", "linode-cli", "vultr-cli", "ibmcloud", "oci", "openstack", "nova", "exo", "scw", "civo", "upctl", "yc"], "** delete|destroy|remove|rm|terminate|shutdown|power-off|poweroff|reset|rebuild", "cloud-delete", "deletes or stops in the cloud"),
    verb(&["heroku"], "apps:destroy|destroy|pg:reset|addons:destroy|domains:clear|pipelines:destroy|ps:stop|container:rm", "cloud-delete", "deletes an app or its data"),
    verb(&["fly", "flyctl", "railway", "render", "northflank", "koyeb", "dokku", "caprover"], "** destroy|delete|remove|rm|down|apps:destroy", "cloud-delete", "deletes an app or its data"),
    verb(&["vercel", "now"], "** remove|rm", "cloud-delete", "deletes a deployment"),
    verb(&["netlify"], "sites:delete|env:unset|blobs:delete", "cloud-delete", "deletes a site"),
    verb(&["firebase"], "*:delete|*:disable|firestore:delete|hosting:disable|functions:delete", "cloud-delete", "deletes in the cloud"),
    verb(&["wrangler", "supabase", "neonctl", "turso", "planetscale", "pscale", "mongocli", "atlas", "confluent", "auth0", "stripe", "shopify", "sentry-cli"], "** delete|destroy|purge|remove|drop", "cloud-delete", "deletes in the cloud"),
    verb(&["supabase"], "db reset", "database-delete", "empties a database"),
    // Forges.
    verb(&["gh"], "repo delete|archive|rename", "forge-delete", "deletes or archives a repository"),
    verb(&["gh"], "release|gist|issue|secret|variable|label|cache|ssh-key|gpg-key|run|codespace|ruleset|project delete|delete-asset|item-delete", "forge-delete", "deletes from a forge"),
    verb(&["glab", "tea", "hub", "bb"], "** delete", "forge-delete", "deletes from a forge"),
    with(&["gh", "glab"], "api", &["delete", "-xdelete", "--method=delete"], "forge-delete", "deletes through a forge's interface"),
    // Packages.
    verb(APT, "remove|purge|autoremove|erase|uninstall|rm|dist-upgrade|full-upgrade", "package-remove", "removes packages of the system"),
    verb(&["brew", "port", "choco", "scoop", "winget", "mas"], "uninstall|remove|rm|autoremove|untap", "package-remove", "removes packages of the system"),
    with(&["pacman", "yay", "paru"], "**", &["-R"], "package-remove", "removes packages of the system"),
    with(&["dpkg", "rpm"], "**", &["-r", "-P", "-e", "--remove", "--purge", "--erase"], "package-remove", "removes packages of the system"),
    verb(&["apk"], "del", "package-remove", "removes packages of the system"),
    verb(&["nix-collect-garbage"], "**", "package-remove", "deletes older generations"),
    with(&["nix-store"], "**", &["--delete", "--gc"], "package-remove", "deletes what nothing uses now"),
    verb(&["npm", "pnpm", "yarn", "bun"], "unpublish|deprecate", "registry-delete", "takes a package away from everybody"),
    verb(&["npm", "pnpm", "yarn"], "owner|access|token|dist-tag rm|revoke|remove", "registry-delete", "takes rights away in a registry"),
    verb(&["npm", "pnpm", "yarn", "bun"], "uninstall|un|unlink|remove|rm|r|prune", "package-remove", "removes packages"),
    verb(&["npm", "pnpm", "yarn", "bun"], "global remove|uninstall|rm", "package-remove", "removes packages"),
    verb(&["pip", "pipx", "conda", "mamba", "micromamba", "gem", "composer", "opam", "luarocks", "cpanm", "volta"], "uninstall|remove|uninject|cleanup", "package-remove", "removes packages"),
    verb(&["uv", "cargo", "dotnet"], "pip|tool uninstall|remove", "package-remove", "removes packages"),
    verb(&["cargo", "rustup"], "uninstall", "package-remove", "removes programs"),
    verb(&["rustup"], "self|toolchain uninstall|remove", "package-remove", "removes programs"),
    verb(&["cargo"], "yank", "registry-delete", "takes a version away from everybody"),
    verb(&["gem"], "yank", "registry-delete", "takes a version away from everybody"),
    // Services, users, networks and the kernel.
    verb(&["systemctl"], "stop|restart|try-restart|disable|mask|kill|isolate|set-default|daemon-reexec|rescue|emergency|suspend|hibernate|reload-or-restart|clean|revert|edit|delete", "stop-service", "stops or restarts services of the system"),
    verb(&["loginctl"], "poweroff|reboot|halt|suspend|hibernate|terminate-*|kill-*", "stop-service", "ends sessions, or the machine"),
    verb(&["service", "rc-service", "invoke-rc.d", "brew"], "* stop|restart|force-reload|zap", "stop-service", "stops or restarts services of the system"),
    verb(&["initctl", "sv", "s6-svc", "supervisorctl", "pm2", "monit", "svcadm", "sc", "sc.exe", "nssm", "net", "forever"], "stop|restart|down|shutdown|delete|kill|remove|disable|exit|force-stop|stopall|flush", "stop-service", "stops or restarts services"),
    verb(&["userdel", "deluser", "groupdel", "delgroup"], "**", "user-change", "deletes a user or a group"),
    verb(&["usermod", "passwd", "chpasswd", "visudo", "gpasswd", "vipw", "chsh"], "**", "user-change", "changes who may log in, and as what"),
    with(&["iptables", "ip6tables", "ebtables"], "**", &["-F", "-X", "-P", "--flush", "--policy", "--delete-chain"], "firewall", "opens or empties the firewall"),
    verb(&["nft"], "flush|delete|reset|destroy", "firewall", "opens or empties the firewall"),
    verb(&["ufw", "firewall-cmd", "pfctl"], "disable|reset|delete|--complete-reload|--panic-on|-d|-F", "firewall", "opens or empties the firewall"),
    verb(&["ip"], "link|addr|address|route|netns|rule del|delete|flush|down", "network", "cuts network connections"),
    verb(&["nmcli"], "** delete|down|off|disconnect", "network", "cuts network connections"),
    verb(&["ifdown", "rfkill"], "**", "network", "cuts network connections"),
    verb(&["rmmod", "insmod", "kexec", "setenforce"], "**", "kernel", "changes the running kernel"),
    with(&["modprobe"], "**", &["-r", "--remove"], "kernel", "changes the running kernel"),
    with(&["sysctl"], "**", &["-w", "--write", "-p", "--load", "--system"], "kernel", "changes the running kernel"),
    verb(&["zfs", "zpool"], "destroy|rollback|labelclear|export|remove|offline", "disk-volume", "destroys a file system"),
    verb(&["lvremove", "vgremove", "pvremove", "lvreduce", "vgreduce"], "**", "disk-volume", "destroys a volume"),
    verb(&["lvm"], "lvremove|vgremove|pvremove|lvreduce|vgreduce", "disk-volume", "destroys a volume"),
    verb(&["btrfs"], "subvolume|device|filesystem delete|remove|del", "disk-volume", "destroys a volume"),
    verb(&["cryptsetup"], "luksFormat|erase|luksErase|luksKillSlot|luksRemoveKey|reencrypt|format|wipe|close", "disk-volume", "makes an encrypted volume unreadable"),
    with(&["mdadm"], "**", &["--stop", "--zero-superblock", "-S", "--remove", "--fail"], "disk-volume", "destroys a volume"),
    verb(&["tmutil", "timeshift", "snapper", "restic", "borg", "duplicity"], "delete|forget|prune|deletelocalsnapshots|remove|--delete|--delete-all|disable", "backup-delete", "deletes backups"),
    verb(&["csrutil", "fdesetup"], "disable|clear|remove", "kernel", "changes how the machine is protected"),
    with(&["spctl"], "**", &["--master-disable", "--global-disable"], "kernel", "changes how the machine is protected"),
    // Databases and queues.
    verb(&["dropdb", "dropuser", "pg_dropcluster", "pg_resetwal"], "**", "database-delete", "deletes a database or a user of one"),
    verb(&["mysqladmin", "mariadb-admin"], "** drop|shutdown|kill|flush-*", "database-delete", "deletes or stops a database"),
    verb(&["pg_ctl", "pg_ctlcluster", "mongod"], "** stop|restart|--shutdown", "stop-service", "stops a database"),
    verb(&["rabbitmqctl"], "reset|force_reset|purge_queue|delete_*|stop|stop_app|shutdown", "database-delete", "empties or stops a queue"),
    with(&["kafka-topics", "kafka-topics.sh"], "**", &["--delete"], "database-delete", "deletes topics"),
    verb(&["etcdctl"], "del|defrag", "database-delete", "deletes from the cluster's store"),
    verb(&["etcdctl"], "member|user|role remove|delete", "database-delete", "deletes from the cluster's store"),
    verb(&["vault", "consul"], "** delete|destroy|disable|revoke|seal|leave", "database-delete", "deletes secrets or settings"),
    verb(&["rails", "rake", "bin/rails"], "db:drop|db:drop:*|db:reset|db:purge|db:truncate_all|db:rollback|db:schema:load|db:setup|db:seed:replant|db:migrate:reset|db:migrate:down", "database-delete", "deletes a database"),
    verb(&["prisma"], "migrate reset", "database-delete", "empties a database"),
    with(&["prisma"], "db push", &["--force-reset", "--accept-data-loss"], "database-delete", "empties a database"),
    verb(&["artisan"], "migrate:fresh|migrate:reset|migrate:refresh|migrate:rollback|db:wipe|queue:flush|cache:clear", "database-delete", "empties a database"),
    verb(&["php"], "artisan|*/artisan migrate:fresh|migrate:reset|migrate:refresh|db:wipe", "database-delete", "empties a database"),
    verb(&["manage.py", "django-admin"], "flush|reset_db|sqlflush|reset_schema", "database-delete", "empties a database"),
    verb(&["python"], "manage.py|*/manage.py flush|reset_db|reset_schema", "database-delete", "empties a database"),
    verb(&["alembic"], "downgrade|stamp", "database-delete", "takes a database back"),
    verb(&["flask"], "db downgrade", "database-delete", "takes a database back"),
    verb(&["npx", "pnpx", "bunx", "pnpm", "yarn"], "prisma migrate reset", "database-delete", "empties a database"),
    verb(&["hasura", "flyway", "liquibase", "dbmate", "goose", "knex", "sequelize", "typeorm", "mix", "diesel", "sqlx"], "** clean|drop|drop-all|ecto.drop|ecto.reset|ecto.rollback|db:drop|schema:drop|database reset|down-to|reset", "database-delete", "empties a database"),
    // Copies that delete, and other version control.
    with(&["rsync"], "**", &["--delete", "--delete-before", "--delete-after", "--delete-during", "--delete-excluded", "--del", "--remove-source-files"], "sync-delete", "deletes files that the other side does not have"),
    with(&["robocopy"], "**", &["/mir", "/MIR", "/purge", "/PURGE"], "sync-delete", "deletes files that the other side does not have"),
    with(&["unison"], "**", &["-force"], "sync-delete", "deletes files that the other side does not have"),
    with(&["hg"], "update|up|checkout|co", &["-C", "--clean"], "git-discard", "throws uncommitted changes away"),
    verb(&["hg"], "strip|purge|rollback", "git-rewrite", "rewrites history"),
    verb(&["jj"], "abandon", "git-rewrite", "rewrites history"),
    with(&["svn"], "revert", &["-R", "--recursive"], "git-discard", "throws uncommitted changes away"),
    verb(&["p4"], "obliterate|revert", "git-discard", "throws changes away"),
    verb(&["bfg"], "**", "git-rewrite", "rewrites the whole history"),
];

/// Options that take the next word as their value.
#[rustfmt::skip]
const VALUED: &[(&[&str], &[&str])] = &[
    (DOCKER, &["-H", "--host", "--context", "--config", "-l", "--log-level", "-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory", "--ansi", "--parallel", "-t", "--time", "-s", "--signal"]),
    (COMPOSE, &["-H", "--host", "-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory", "--ansi", "--parallel"]),
    (KUBE, &["-n", "--namespace", "--context", "--kubeconfig", "-s", "--server", "--cluster", "--user", "--token", "--as", "-f", "-l", "-o", "--selector", "--filename", "--output"]),
    (&["helm", "helmfile"], &["-n", "--namespace", "--kube-context", "--kubeconfig", "-f", "--values", "--environment", "-e"]),
    (&["aws"], &["--profile", "--region", "--output", "--endpoint-url", "--query", "--ca-bundle", "--color", "--cli-input-json"]),
    (&["gcloud"], &["--project", "--account", "--configuration", "--format", "--zone", "--region", "--verbosity", "--impersonate-service-account"]),
    (&["az"], &["-g", "--resource-group", "-n", "--name", "--subscription", "-o", "--output", "--query"]),
    (&["gh", "glab"], &["-R", "--repo", "--hostname"]),
    (&["systemctl"], &["-H", "--host", "-M", "--machine", "-t", "--type", "-p", "--property", "-s", "--signal", "-n", "-o"]),
    (&["terraform", "tofu", "terragrunt"], &["-chdir"]),
    (&["ip"], &["-n", "-netns", "-f", "-family"]),
    (&["pulumi"], &["-s", "--stack", "-C", "--cwd"]),
    (&["heroku"], &["-a", "--app", "-r", "--remote"]),
    (&["fly", "flyctl"], &["-a", "--app", "-c", "--config"]),
    (&["doctl"], &["-t", "--access-token", "--context", "-c", "--config"]),
    (&["pip", "pip3"], &["--proxy", "--python", "--log", "--cache-dir", "--timeout", "--retries", "--cert", "--trusted-host"]),
    (&["npm", "pnpm", "yarn"], &["--prefix", "--cwd", "-C", "--dir", "-w", "--workspace", "--filter"]),
    (&["pm2"], &["-n", "--name"]),
];

pub fn found(name: &str, call: &Invocation, found: &mut Found) {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let mut words: Option<Vec<&str>> = None;
    for verb in VERBS.iter().filter(|verb| verb.programs.contains(&name) || verb.programs.contains(&bare)) {
        let words = words.get_or_insert_with(|| said(name, &call.arguments));
        let Some(count) = fits(verb.words, words) else { continue };
        if !verb.options.is_empty() && !has_any(verb.options, &call.arguments) {
            continue;
        }
        if only_tries(&call.arguments) && !call.open_ended {
            continue;
        }
        let verb_words = words.get(..count).unwrap_or_default().join(" ");
        let given: Vec<&str> =
            verb.options.iter().copied().filter(|option| has_any(&[option], &call.arguments)).collect();
        let pattern = format!("{name} {verb_words} {}", given.join(" ")).trim_end().replace("  ", " ");
        let target = words.get(count..).unwrap_or_default().join(" ");
        let reason = format!("It {}, with `{}`.", verb.does, excerpt(&pattern));
        found.about(verb.rule, reason, pattern, Some(target).filter(|target| !target.is_empty()));
    }
}

/// The words that are no options and no values of options.
fn said<'a>(name: &str, arguments: &'a [Field]) -> Vec<&'a str> {
    let valued =
        VALUED.iter().find(|(names, _)| names.contains(&name)).map_or(&[][..], |(_, options)| options);
    let mut words = vec![];
    let mut rest = arguments.iter().map(Field::text);
    while let Some(text) = rest.next() {
        if valued.contains(&text) {
            rest.next();
        } else if !text.starts_with('-') {
            words.push(text);
        }
    }
    words
}

/// How many words a pattern takes from the beginning, if it fits there.
fn fits(pattern: &str, words: &[&str]) -> Option<usize> {
    let parts: Vec<&str> = pattern.split(' ').collect();
    match parts.as_slice() {
        ["**"] => Some(0),
        ["**", last] => {
            // Far behind, a word is an argument: a name or a message.
            let at = words.iter().take(5).position(|word| is(last, word))?;
            Some(at + 1)
        }
        [first, "**"] => words.first().filter(|word| is(first, word)).map(|_| 1),
        parts => {
            let all =
                parts.iter().enumerate().all(|(nth, part)| words.get(nth).is_some_and(|word| is(part, word)));
            all.then_some(parts.len())
        }
    }
}

fn is(part: &str, word: &str) -> bool {
    part.split('|').any(|choice| match glob::is_pattern(choice) {
        true => glob::matches(choice, word),
        false => choice == word || choice == base_name(word),
    })
}

/// `-R` is also in `-Rns`; long options also with `=`.
fn has_any(options: &[&str], arguments: &[Field]) -> bool {
    arguments.iter().map(Field::text).any(|text| {
        options.iter().any(|option| {
            let is_letter = option.len() == 2 && option.starts_with('-');
            let in_cluster = is_letter
                && text.starts_with('-')
                && !text.starts_with("--")
                && option.chars().nth(1).is_some_and(|letter| text.contains(letter));
            in_cluster
                || text.eq_ignore_ascii_case(option)
                || text.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
        })
    })
}

/// `--help` and a dry run change nothing.
fn only_tries(arguments: &[Field]) -> bool {
    arguments.iter().filter_map(Field::value).any(|text| {
        matches!(
            text,
            "--help"
                | "--dry-run"
                | "--dry-run=client"
                | "--dry-run=server"
                | "--dryrun"
                | "--simulate"
                | "--just-print"
        )
    })
}
