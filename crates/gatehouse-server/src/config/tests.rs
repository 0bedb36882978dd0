use super::load::variable_of;
use super::*;

fn load(file: Option<&str>, environment: &[(&str, &str)]) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.toml");
    let path = file.map(|text| {
        std::fs::write(&path, text).unwrap();
        path.as_path()
    });
    let environment = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Config::load(path, environment, &[]).map_err(|bad| bad.to_string())
}

#[test]
fn an_empty_file_is_a_working_set_up() {
    let config = load(Some(""), &[]).unwrap();
    assert_eq!(config.show(), Config::default().show());
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
}

#[test]
fn flags_override_the_environment_which_overrides_the_file() {
    let file = "listen = '127.0.0.1:1'\nbase_path = '/f'\n[limits]\npage_size_max = 1\n";
    let environment =
        [("GATEHOUSE_LISTEN", "127.0.0.1:2"), ("GATEHOUSE_LIMITS__PAGE_SIZE_MAX", "2")];
    let config = load(Some(file), &environment).unwrap();
    assert_eq!((config.listen.port(), config.limits.page_size_max), (2, 2));
    assert_eq!(config.base_path.as_str(), "/f");

    let environment = [("GATEHOUSE_LISTEN".to_owned(), "127.0.0.1:2".to_owned())];
    let flags = [("listen", "127.0.0.1:3".to_owned())];
    assert_eq!(Config::load(None, environment, &flags).unwrap().listen.port(), 3);
}

#[test]
fn an_unknown_setting_is_an_error_that_names_it() {
    let error = load(Some("lisen = 'x'"), &[]).unwrap_err();
    assert!(
        error.contains("lisen") && error.contains("line 1") && error.contains("listen"),
        "{error}"
    );
    let error = load(Some("[limits]\npages = 1"), &[]).unwrap_err();
    assert!(error.contains("pages") && error.contains("page_size_max"), "{error}");
    let error = load(None, &[("GATEHOUSE_LISEN", "x")]).unwrap_err();
    assert!(error.contains("GATEHOUSE_LISEN") && error.contains("GATEHOUSE_LISTEN"), "{error}");
    assert!(load(None, &[("GATEHOUSE_listen", "127.0.0.1:1")]).is_err(), "names are in capitals");
    let secret = "\ndatabase_url = 'postgres://ann:s3cret@db:port/fleet'";
    let error = load(Some(secret), &[]).unwrap_err();
    assert!(error.contains("line 2") && !error.contains("s3cret"), "{error}");
    assert!(load(None, &[("GATEHOUSE_URL", "x"), ("GATEHOUSE_TOKEN", "y"), ("HOME", "z")]).is_ok());
}

#[test]
fn an_error_names_the_variable_of_a_bad_value() {
    for (variable, value, what) in [
        ("GATEHOUSE_LISTEN", "localhost:8080", "127.0.0.1:8080"),
        ("GATEHOUSE_DATA_DIR", "", "must not be empty"),
        ("GATEHOUSE_MASTER_KEY_FILE", "", "must not be empty"),
        ("GATEHOUSE_LIMITS__PAGE_SIZE_MAX", "many", "whole number"),
        ("GATEHOUSE_LIMITS__PAGE_SIZE_MAX", "0", "1 to 1000"),
        ("GATEHOUSE_LIMITS__PAGE_SIZE_MAX", "1001", "1 to 1000"),
        ("GATEHOUSE_LIMITS__BATCH_ITEMS", "0", "1 to 1000000"),
        ("GATEHOUSE_LIMITS__BATCH_ITEMS", "1000001", "1 to 1000000"),
        ("GATEHOUSE_LIMITS__BODY_BYTES", "1023", "1024"),
        ("GATEHOUSE_LIMITS__CONNECTIONS", "0", "1 to 1000000"),
        ("GATEHOUSE_LIMITS__CONNECTIONS", "1000001", "1 to 1000000"),
        ("GATEHOUSE_LIMITS__CONCURRENT_REQUESTS", "0", "1 to 1000000"),
        ("GATEHOUSE_LIMITS__HEADER_TIMEOUT", "9ms", "10ms to 1h, not 9ms"),
        ("GATEHOUSE_LIMITS__BODY_TIMEOUT", "61m", "10ms to 1h, not 61m"),
        ("GATEHOUSE_LIMITS__IDLE_TIMEOUT", "60", "such as `10s`, not `60`"),
        ("GATEHOUSE_OPERATOR_LISTEN", "9090", "operator_listen must be an IP address"),
        ("GATEHOUSE_TLS__CERTIFICATE", "", "tls.certificate must not be empty"),
        ("GATEHOUSE_TLS__KEY", "", "tls.key must not be empty"),
        ("GATEHOUSE_PLATFORMS__DEADLINE", "99ms", "100ms to 5m, not 99ms"),
        ("GATEHOUSE_PLATFORMS__DEADLINE", "301s", "100ms to 5m, not 301s"),
        ("GATEHOUSE_PLATFORMS__ALLOW_INSECURE_URLS", "yes", "`true` or `false`, not `yes`"),
        ("GATEHOUSE_PLATFORMS__PAGE_NUMBER_MAX", "0", "1 to 10000000"),
        ("GATEHOUSE_PLATFORMS__PAGE_NUMBER_MAX", "10000001", "1 to 10000000"),
        ("GATEHOUSE_PLATFORMS__CONNECTORS_DIR", "", "connectors_dir must not be empty"),
        ("GATEHOUSE_LOG__LEVEL", "loud", "debug"),
        ("GATEHOUSE_LOG__FORMAT", "xml", "json"),
        ("GATEHOUSE_TRACES__ENDPOINT", "127.0.0.1:4318", "http://127.0.0.1:4318"),
        ("GATEHOUSE_TRACES__ENDPOINT", "ftp://c", "http://127.0.0.1:4318"),
        ("GATEHOUSE_TRACES__ENDPOINT", "http://ann:pw@c:4318", "without a name, password"),
        ("GATEHOUSE_TRACES__ENDPOINT", "http://c:4318?x=1", "without a name, password"),
        ("GATEHOUSE_TRACES__ENDPOINT", "http://c:4318/v1/traces", "without `/v1/traces`"),
        ("GATEHOUSE_TRACES__SAMPLE_PERCENT", "101", "0 to 100"),
        ("GATEHOUSE_TRACES__SAMPLE_PERCENT", "0.5", "whole number"),
        ("GATEHOUSE_BASE_PATH", "api", "/gatehouse"),
        ("GATEHOUSE_BASE_PATH", "/a//b", "/gatehouse"),
        ("GATEHOUSE_PUBLIC_URL", "fleet.example", "https://"),
        ("GATEHOUSE_PUBLIC_URL", "https://fleet.example/?x=1", "https://"),
        ("GATEHOUSE_DATABASE_URL", "mysql://x", "postgres://"),
        ("GATEHOUSE_AUTH__AUDIENCE", "", "audience"),
        ("GATEHOUSE_MASTER_KEY", "0123", "64 hexadecimal"),
    ] {
        let error = load(None, &[(variable, value)]).unwrap_err();
        assert!(error.starts_with(variable) && error.contains(what), "{variable}={value}: {error}");
    }
}

#[test]
fn a_duration_needs_its_unit() {
    let error = load(Some("\n[limits]\nidle_timeout = 60"), &[]).unwrap_err();
    assert!(error.contains("line 3") && error.contains("such as `10s`"), "{error}");
    let config = load(Some("[limits]\nidle_timeout = '10ms'\nbody_timeout = '1h'"), &[]).unwrap();
    let shown = config.show();
    assert!(shown.contains("idle_timeout = \"10ms\""), "{shown}");
    assert!(shown.contains("body_timeout = \"1h\""), "{shown}");
}

#[test]
fn platform_calls_can_be_configured() {
    let platforms = Config::default().platforms;
    assert_eq!(platforms.deadline.get().as_secs(), 10);
    assert!(!platforms.allow_insecure_urls);
    let environment = [
        ("GATEHOUSE_PLATFORMS__ALLOW_INSECURE_URLS", " true"),
        ("GATEHOUSE_PLATFORMS__DEADLINE", "100ms"),
    ];
    let platforms = load(Some("platforms.page_number_max = 1"), &environment).unwrap().platforms;
    assert_eq!((platforms.page_number_max, platforms.deadline.get().as_millis()), (1, 100));
    assert!(platforms.allow_insecure_urls);
}

#[test]
fn tls_needs_both_files() {
    let [certificate, key] =
        [("GATEHOUSE_TLS__CERTIFICATE", "c.pem"), ("GATEHOUSE_TLS__KEY", "k.pem")];
    let error = load(None, &[certificate]).unwrap_err();
    assert!(error.contains("tls.key is not"), "{error}");
    let error = load(Some("tls.key = 'k.pem'"), &[]).unwrap_err();
    assert!(error.contains("tls.certificate is not"), "{error}");
    // The file may set one and the environment the other.
    let config = load(Some("tls.key = 'k.pem'"), &[certificate]).unwrap();
    assert!(load(Some(&config.show()), &[]).is_ok(), "{}", config.show());
    assert!(load(None, &[key, certificate]).is_ok());
}

#[test]
fn a_master_key_is_given_once() {
    let key = "ab".repeat(32);
    let both = [("GATEHOUSE_MASTER_KEY", key.as_str()), ("GATEHOUSE_MASTER_KEY_FILE", "m.key")];
    assert!(load(None, &both).unwrap_err().contains("not both"));
    let several = format!("{key}\n{}", "cd".repeat(32));
    let config = load(None, &[("GATEHOUSE_MASTER_KEY", &several)]).unwrap();
    assert_eq!(config.master_key.unwrap().fingerprints().len(), 2);
    let why = load(None, &[("GATEHOUSE_MASTER_KEY", &several[1..])]).unwrap_err();
    assert!(why.contains("GATEHOUSE_MASTER_KEY: key 1 of 2: a master key is 64"), "{why}");
    assert!(!why.contains(&key[2..]), "{why}");
}

#[test]
fn shown_settings_hold_no_secrets_and_parse_again() {
    let key = "ab".repeat(32);
    let config = load(
        Some(
            "database_url = 'postgres://ann:s3cret@db/fleet'\npublic_url = 'https://f.example/g/'",
        ),
        &[("GATEHOUSE_MASTER_KEY", &key)],
    )
    .unwrap();
    let shown = config.show();
    assert!(!shown.contains("s3cret") && !shown.contains(&key), "{shown}");
    assert!(shown.contains("postgres://***@db:5432/fleet"), "{shown}");
    assert!(shown.contains("\"https://f.example/g\""), "{shown}");
    assert!(!format!("{config:?}").contains("s3cret"));
    assert!(load(Some(&shown), &[]).is_ok());
}

/// The example documents every setting with its default, commented out.
#[test]
fn the_example_file_shows_every_setting_and_default() {
    let example = include_str!("../../../../gatehouse.example.toml");
    assert_eq!(load(Some(example), &[]).unwrap().show(), Config::default().show(), "all commented");

    let mut uncommented = String::new();
    for line in example.lines() {
        // A setting is `#name = value`; prose is `# text`.
        let setting = line
            .strip_prefix('#')
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
        uncommented.push_str(setting.unwrap_or(line));
        uncommented.push('\n');
    }
    let table: toml::Table = toml::from_str(&uncommented).unwrap();
    // Some settings are for the embedded store alone, and there is one way to sign in at NATS.
    const OTHERS: [&str; 4] = ["database_url", "user", "password_file", "token_file"];
    let is_other = |line: &str| OTHERS.iter().any(|it| line.starts_with(&format!("{it} =")));
    let together: Vec<&str> = uncommented.lines().filter(|line| !is_other(line)).collect();
    load(Some(&together.join("\n")), &[]).unwrap();
    let defaults: toml::Table = toml::from_str(&Config::default().show()).unwrap();
    for (setting, _) in SETTINGS {
        let find = |table: &toml::Table| {
            let mut names = setting.split('.');
            let first = table.get(names.next()?)?;
            names.try_fold(first, |section, name| section.get(name)).cloned()
        };
        let shown = find(&table).unwrap_or_else(|| panic!("{setting} is not in the example"));
        if let Some(default) = find(&defaults) {
            assert_eq!(shown, default, "the example's {setting} is not the default");
        }
        let variable = variable_of(setting);
        assert!(example.contains(&variable), "{variable} is not in the example");
    }
    assert_eq!(count(&table), SETTINGS.len(), "the example has settings that don't exist");
}

/// Number of settings in all sections.
fn count(table: &toml::Table) -> usize {
    table.values().map(|it| it.as_table().map_or(1, count)).sum()
}

#[test]
fn backups_and_checks_are_for_the_embedded_store() {
    let schedule = |file: &str| load(Some(file), &[]).map(|it| it.backup.schedule());
    assert!(schedule("").unwrap().is_none());
    let default = schedule("backup.to = 'b'").unwrap().unwrap();
    assert_eq!((default.every.as_secs(), default.keep), (24 * 3600, 7));
    let set = schedule("[backup]\nto = 'b'\nevery = '6h'\nkeep = 3").unwrap().unwrap();
    assert_eq!((set.every.as_secs(), set.keep), (6 * 3600, 3));
    let postgres = "database_url = 'postgres://ann@db/x'\n";
    for (file, expected) in [
        ("backup.every = '6h'".to_owned(), "backup.to is not"),
        ("backup.keep = 3".to_owned(), "backup.to is not"),
        ("backup.to = './gatehouse-data/'".to_owned(), "the data directory itself"),
        ("backup.to = ''".to_owned(), "must not be empty"),
        ("[backup]\nto = 'b'\nkeep = 0".to_owned(), "1 to 10000"),
        ("[backup]\nto = 'b'\nevery = '0s'".to_owned(), "1s to 365d, not 0s"),
        ("store.check_interval = '366d'".to_owned(), "1s to 365d, not 366d"),
        (format!("{postgres}backup.to = 'b'"), "pg_dump"),
        (format!("{postgres}store.check_interval = '1d'"), "amcheck"),
    ] {
        let why = load(Some(&file), &[]).unwrap_err();
        assert!(why.contains(expected), "{file}: {why}");
    }
}

#[test]
fn an_error_in_a_file_names_the_setting_with_its_section() {
    for (text, expected) in [
        ("[limits]\npage_size_max = 'x'", "line 2, limits.page_size_max: "),
        ("[limits]\nrequests_per_second = -1", "limits.requests_per_second: "),
        ("[limits]\n\nheader_timeout = '1'", "line 3, limits.header_timeout: "),
        ("[limits]\nfoo = 1", "line 2, limits.foo: "),
        ("[log]\nlevel = 'loud'", "line 2, log.level: "),
        ("[[auth.issuers]]\nissuer = 'x'", "line 2, auth.issuers.issuer: "),
    ] {
        let why = load(Some(text), &[]).unwrap_err().to_string();
        assert!(why.contains(expected) && !why.contains("u64"), "{text}: {why}");
    }
}

#[test]
fn issuers_come_from_a_file_or_a_variable() {
    let variable = |text: &str| {
        let name = "GATEHOUSE_AUTH__ISSUERS".to_owned();
        Config::load(None, [(name, text.to_owned())], &[])
    };
    let config = variable(
        r#"[{ issuer = "https://id.example/fleet" },
            { issuer = "http://127.0.0.1:9000", audience = "a", tenants_claim = "t", scope_claim = "s" }]"#,
    );
    let issuers = config.unwrap().auth.issuers;
    let first = &issuers[0];
    assert_eq!(first.issuer.as_str(), "https://id.example/fleet");
    assert_eq!((first.tenants_claim.as_str(), first.scope_claim.as_str()), ("tenants", "scope"));
    assert_eq!((first.audience.as_deref(), issuers[1].audience.as_deref()), (None, Some("a")));
    for (bad, expected) in [
        ("https://id.example", "must be a list such as"),
        (r#"{ issuer = "https://id.example" }"#, "must be a list such as"),
        (r#"[{ isuer = "https://id.example" }]"#, "isuer"),
        (r#"[{ audience = "x" }]"#, "issuer"),
        (r#"[{ issuer = "http://id.example" }]"#, "https://id.example/realms/fleet"),
        (r#"[{ issuer = "id.example" }]"#, "https://id.example/realms/fleet"),
        (r#"[{ issuer = "https://a:b@id.example" }]"#, "https://id.example/realms/fleet"),
        (r#"[{ issuer = "https://id.example", audience = "" }]"#, "must not be empty"),
        (r#"[{ issuer = "https://a.b" }, { issuer = "https://a.b" }]"#, "twice"),
        (r#"[{ issuer = "https://a.b", console_client_id = " " }]"#, "must not be empty"),
        (
            r#"[{ issuer = "https://a.b", console_client_id = "c", console_scope = "" }]"#,
            "must not be empty",
        ),
        (r#"[{ issuer = "https://a.b", console_scope = "openid" }]"#, "needs console_client_id"),
    ] {
        let why = variable(bad).unwrap_err().to_string();
        assert!(why.contains(expected) && why.contains("GATEHOUSE_AUTH__ISSUERS"), "{bad}: {why}");
    }
}

#[test]
fn the_public_url_ends_in_the_base_path() {
    let with = |url: &str| load(Some(&format!("public_url = '{url}'\nbase_path = '/g'")), &[]);
    for url in ["https://f.example/g", "https://f.example/g/", "https://f.example/fleet/g"] {
        assert!(with(url).is_ok(), "{url}");
    }
    for url in
        ["https://f.example", "https://f.example/other", "https://f.example/g/more", "https://g"]
    {
        let why = with(url).unwrap_err();
        assert!(why.contains("its path must end in base_path, `/g`"), "{url}: {why}");
    }
    assert!(load(Some("public_url = 'https://f.example/anything'"), &[]).is_ok());
}
