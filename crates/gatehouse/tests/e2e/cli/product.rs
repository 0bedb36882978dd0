use super::*;
use serde_json::Value;

/// Connections of the demo's platforms, in every run.
const ICCID: &str = "8948692690826143258";
const IMSI: &str = "260496931700685";
const TERMINAL: &str = "SL-DF-3043766-98743-73";

/// The addresses of the demo's platforms, from its output.
fn broken_platform(shell: &mut Shell) -> String {
    use std::io::BufRead;
    let mut line = String::new();
    loop {
        line.clear();
        assert!(shell.server.stdout.read_line(&mut line).unwrap() > 0, "the demo names a platform");
        if let Some((_, rest)) = line.split_once("PATCH ") {
            return rest.split("/-/").next().unwrap().to_owned();
        }
    }
}

#[test]
fn connections_are_listed_over_platforms() {
    let shell = Shell::open();
    let (narrow, _) = shell.terminal(&["product", "list", "--page-size", "8"], 80).finish();
    insta::assert_snapshot!(narrow, @"
    ID                STATUS      ACCOUNT  ICCID                 MSISDN
    ALPHA-0283b07ba8  ACTIVE      acme-eu  8948692690826143258   487942498061999
    ALPHA-1fb8706e75  ACTIVE      acme-eu  8948692301402258728   487316457745817
    ALPHA-abf7e5358e  CREATED     acme-us  8948692078228042631   487202854148841
    ALPHA-73f9b86681  TERMINATED  acme-us  8948692790076618923   487403432416518
    BETA-876ef600c6   ACTIVE      trucks   89313233090288818413  317166091847536
    BETA-73464a3d12   ACTIVE      trucks   89313231859623659498  317293170309165
    GAMMA-b08ab762ef  SUSPENDED   ships
    GAMMA-83770e05b8  ACTIVE      ships
    there may be more: --page 2 shows the next, --all shows all
    ");
    let (wide, _) = shell.terminal(&["product", "list", "--page-size", "8"], 200).finish();
    insta::assert_snapshot!(wide, @"
    ID                STATUS      ACCOUNT  ICCID                 IMSI             MSISDN           IMEI             SERIAL NUMBER           TYPE       PLATFORM STATUS
    ALPHA-0283b07ba8  ACTIVE      acme-eu  8948692690826143258   260496931700685  487942498061999  861831052651102                          CELLULAR   in-use
    ALPHA-1fb8706e75  ACTIVE      acme-eu  8948692301402258728   260499521969633  487316457745817  861831053695371                          CELLULAR   in-use
    ALPHA-abf7e5358e  CREATED     acme-us  8948692078228042631   260818221556976  487202854148841                                           CELLULAR   stock
    ALPHA-73f9b86681  TERMINATED  acme-us  8948692790076618923   260818303060335  487403432416518  015161005642452                          CELLULAR   retired
    BETA-876ef600c6   ACTIVE      trucks   89313233090288818413  204146786558876  317166091847536  864752047596813                          CELLULAR   in-use
    BETA-73464a3d12   ACTIVE      trucks   89313231859623659498  204141319862214  317293170309165  861831055743559                          CELLULAR   in-use
    GAMMA-b08ab762ef  SUSPENDED   ships                                                                             SL-DF-3043766-98743-73  SATELLITE  paused
    GAMMA-83770e05b8  ACTIVE      ships                                                                             SL-DF-5123464-77818-71  SATELLITE  in-use
    there may be more: --page 2 shows the next, --all shows all
    ");
    let (one, _) = shell.terminal(&["product", "show", "ALPHA-0283b07ba8"], 80).finish();
    insta::assert_snapshot!(one, @"
    id               ALPHA-0283b07ba8
    status           ACTIVE
    account          acme-eu
    iccid            8948692690826143258
    imsi             260496931700685
    msisdn           487942498061999
    imei             861831052651102
    type             CELLULAR
    platform status  in-use
    properties       fleet=metering site=Gdańsk label=unit 2140
    ");
    let ids = |words: &[&str]| -> Vec<String> {
        let words = [&["product", "list", "-o", "json"], words].concat();
        let listed = shell.json(&words);
        assert_eq!(listed["errors"], serde_json::json!([]), "{words:?}");
        listed["entities"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = ids(&["--all"]);
    let at = |platform: &str| all.iter().filter(|id| id.starts_with(platform)).count();
    assert!(at("ALPHA") > 0 && at("BETA") > 0 && at("GAMMA") > 0);
    assert_eq!(ids(&["--all", "--page-size", "40"]).len(), all.len(), "whatever the pages");
    let two = ids(&["--all", "--platform", "BETA", "--platform", "GAMMA"]);
    assert_eq!(two.len(), at("BETA") + at("GAMMA"));
    assert_eq!(ids(&["--iccid", ICCID]), ["ALPHA-0283b07ba8"]);
    assert_eq!(ids(&["--filter", &format!("ICCID={ICCID};serialNumber={TERMINAL}")]).len(), 2);
    // Empty pages in the middle are not the end.
    let metering =
        ids(&["--all", "--page-size", "4", "--property", "fleet=metering", "--platform", "BETA"]);
    let whole = ids(&["--all", "--property", "fleet=metering", "--platform", "BETA"]);
    assert_eq!(metering, whole);
    assert!(!whole.is_empty() && whole.len() < at("BETA"), "{}", whole.len());
    let csv = shell.ok(&["product", "list", "--all", "--account", "ships", "-o", "csv"]);
    assert_eq!(csv.lines().count(), 1 + at("GAMMA"));
}

#[test]
fn failed_accounts_of_a_list_are_reported() {
    let mut shell = Shell::open();
    let platform = broken_platform(&mut shell);
    break_platform(&platform);
    let ran = shell.run(&["product", "list", "--page-size", "4"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(ran.stdout.lines().count(), 4, "the other three accounts:\n{}", ran.stdout);
    assert!(
        ran.stderr.contains("! 502 Platform error: account `trucks` at BETA"),
        "{}",
        ran.stderr
    );
    let ran = shell.run(&["product", "list", "--all", "-o", "json"]);
    assert_eq!(ran.code, 3);
    let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(!listed["entities"].as_array().unwrap().is_empty());
    assert_eq!(listed["errors"][0]["relatedParty"][0]["name"], "trucks");

    // The result is unknown where a failed account might have the number.
    let found = shell.run(&[
        "product",
        "find",
        ICCID,
        "8900000000000000000",
        "ALPHA-nowhere",
        "-o",
        "json",
    ]);
    assert_eq!(found.code, 3);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found["found"][0]["product"]["id"], "ALPHA-0283b07ba8");
    assert_eq!(found["unknown"], serde_json::json!(["8900000000000000000"]));
    assert_eq!(found["notFound"], serde_json::json!(["ALPHA-nowhere"]));
}

fn break_platform(url: &str) {
    let answer = Command::new("curl")
        .args(["-sf", "-X", "PATCH", &format!("{url}/-/profile"), "-d", r#"{"fault": "reset"}"#])
        .output()
        .unwrap();
    assert!(answer.status.success(), "{}", printed(&answer));
}

#[test]
fn a_sim_is_found_by_any_of_its_numbers() {
    let shell = Shell::open();
    let numbers = [
        ICCID,
        IMSI,
        TERMINAL,
        "BETA-876ef600c6",
        "8900000000000000000",
        "+4915100000000",
        "pump-7",
    ];
    let words = [&["product", "find"][..], &numbers].concat();
    let (screen, code) = shell.terminal(&words, 80).finish();
    assert_eq!(code, 3);
    insta::assert_snapshot!(screen, @"
    SOUGHT                  ID                STATUS     ACCOUNT  KIND
    8948692690826143258     ALPHA-0283b07ba8  ACTIVE     acme-eu  ICCID
    260496931700685         ALPHA-0283b07ba8  ACTIVE     acme-eu  IMSI
    SL-DF-3043766-98743-73  GAMMA-b08ab762ef  SUSPENDED  ships    serial number
    BETA-876ef600c6         BETA-876ef600c6   ACTIVE     trucks   product ID

    NOT FOUND (2)
      8900000000000000000     ICCID or serial number
      +4915100000000          MSISDN

    NOT IDENTIFIERS (1)
      pump-7
    gatehouse: 2 not found, 1 not identifiers
    ");

    let found = shell.ok(&["product", "find", &format!("{ICCID}F")]);
    assert!(found.contains("ALPHA-0283b07ba8"), "with the filling digit:\n{found}");
    assert_eq!(shell.run(&["product", "find", "8900000000000000000"]).code, 5);
    assert_eq!(shell.run(&["product", "find", "--kind", "msisdn", IMSI]).code, 5, "it is an IMSI");

    // From a file, and from standard input: a duplicate counts once.
    shell.write("lost.txt", &format!("iccid\r\n{ICCID}\r\n{ICCID}\r\n89313233090288818413\r\n"));
    for ran in [
        shell.run(&["product", "find", "--from", "lost.txt", "-o", "csv"]),
        shell.run_with(&["product", "find", "-o", "csv"], &shell.read("lost.txt")),
        shell.run_with(
            &["product", "find", "-", "-o", "csv"],
            &format!("{ICCID}; 89313233090288818413"),
        ),
    ] {
        assert_eq!((ran.code, ran.stdout.lines().count()), (0, 3), "{}{}", ran.stdout, ran.stderr);
    }
    let labels = shell.run_with(
        &["product", "find", "-o", "csv"],
        "8948 6926 9082 6143 258\n+48 794 249 8061999\n",
    );
    assert_eq!((labels.code, labels.stdout.lines().count()), (0, 3), "{}", labels.stdout);
    // The same digits may be of two kinds: both are looked up.
    let both = shell.run(&["product", "find", &format!("+{IMSI}"), IMSI, "-o", "json"]);
    let both: Value = serde_json::from_str(&both.stdout).unwrap();
    assert_eq!(both["notFound"], serde_json::json!([format!("+{IMSI}")]));
    assert_eq!(both["found"][0]["sought"], IMSI);
    let typed =
        shell.ok(&["product", "find", "8948 6926 9082 6143 258", &format!("{TERMINAL},{IMSI}")]);
    assert_eq!(typed.lines().count(), 4, "{typed}");
    let imei = shell.run(&["product", "find", "861831052651102"]);
    assert_eq!(imei.code, 5);
    assert!(imei.stderr.contains("may be IMEIs"), "{}", imei.stderr);
    let strange = shell.run(&["product", "find", "pump-7", "12"]);
    assert_eq!((strange.code, strange.stdout.as_str()), (2, ""), "{}", strange.stderr);
    let nothing = shell.run_with(&["product", "find"], " \n");
    assert_eq!(nothing.code, 2);
    assert!(nothing.stderr.contains("no number is given"), "{}", nothing.stderr);
}

/// More numbers than one request may have.
#[test]
fn thousands_of_numbers_are_looked_up_at_once() {
    let shell = Shell::open();
    let mut many: Vec<String> =
        (0..2500).map(|n| format!("{}", 999_000_000_000_000_u64 + n)).collect();
    many.push(IMSI.to_owned());
    let ran =
        shell.run_with(&["product", "find", "-", "--kind", "imsi", "-o", "json"], &many.join("\n"));
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    let all: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(all["found"].as_array().unwrap().len(), 1);
    assert_eq!(all["notFound"].as_array().unwrap().len(), 2500);
}
