//! The README's tour, run as it is written there.

use super::*;
use std::io::BufRead;

const README: &str = include_str!("../../../../../README.md");

fn commands(from: &str, to: &str) -> String {
    let start = README.find(from).unwrap();
    let end = start + README[start..].find(to).unwrap();
    let fenced = README[start..end].split("```").skip(1).step_by(2);
    fenced.filter_map(|block| block.strip_prefix("sh\n")).collect()
}

#[test]
fn the_tour_of_the_readme_works() {
    let mut shell = Shell::open();
    let mut invitation = String::new();
    while !invitation.contains("/-/ready") {
        assert!(shell.server.stdout.read_line(&mut invitation).unwrap() > 0, "{invitation}");
    }
    let exports: String = invitation
        .lines()
        .filter(|it| it.starts_with("  export "))
        .map(|it| format!("{it}\n"))
        .collect();
    assert_eq!(exports.lines().count(), 4, "{exports}");
    let port =
        invitation.split("PATCH http://127.0.0.1:").nth(1).unwrap().split('/').next().unwrap();

    let tour = commands("## A first access", "## A fleet of your own").replace("PORT", port);
    // Each failing command is printed with its exit code.
    let script = format!("{exports}\ntrap 'echo \"ended $?: $BASH_COMMAND\"' ERR\n{tour}\n");
    shell.write("tour.sh", &script);
    let mut command = Command::new("bash");
    command.arg("tour.sh").current_dir(shell.setup.dir.path()).stdin(Stdio::null());
    command.env("XDG_CONFIG_HOME", shell.setup.path("config"));
    let output = command.output().unwrap();
    let shown = printed(&output);
    let ended: Vec<&str> = shown.lines().filter(|it| it.starts_with("ended ")).collect();
    insta::assert_snapshot!(ended.join("\n"), @"
    ended 5: gatehouse product find 8948692690826143258 +487202854148841 SL-DF-3043766-98743-73 BETA-nowhere
    ended 3: gatehouse product list --page-size 4
    ");
    for part in [
        "password  ",
        "status    SUSPENDED",
        "site=hamburg",
        r#""name":"pump-7","contractId":"C-PAYG""#,
        "succeeded  1000",
        "succeeded  10\n",
        "NOT FOUND (1)\n  BETA-nowhere",
        "! 502 Platform error: account `trucks` at BETA",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert_eq!(shell.read("fleet.csv").lines().count(), 1001);
    assert!(shell.read("beta.csv").lines().count() > 10);
}
