use super::*;

#[test]
fn static_repeated_and_dynamic_imports_are_found() {
    let text = "import {\n  a,\n} from './a.js';\nimport \"../b.js\";\nexport { c } from './c.js';\n\
                const d = () => import('./d.js');\nimport e from 'e';\n";
    let mut specifiers = find_specifiers(text);
    specifiers.sort_unstable();
    assert_eq!(specifiers, [(3, "./a.js"), (4, "../b.js"), (5, "./c.js"), (6, "./d.js"), (7, "e")]);
}

#[test]
fn types_strings_and_other_words_are_no_imports() {
    let text = "/** @type {import('./a.js').A} */\nconst b = \"import './b.js'\";\n\
                const c = wherefrom + './c.js';\nx.from('./d.js');\n";
    assert_eq!(find_specifiers(text), []);
}

#[test]
fn relative_paths_lead_to_tracked_modules() {
    let tree = Tree::of(&[
        ("console/api.js", ""),
        ("console/part/table.js", "import './row.js';\nimport '../api.js';\nimport 'lit';\n"),
        ("tests/console/server.js", "import '../../console/api.js';\n"),
    ]);
    let import = |line, to: &str| Import {
        from: "console/part/table.js".to_owned(),
        line,
        to: to.to_owned(),
    };
    assert_eq!(find(&tree), [import(2, "console/api.js")]);
}
