use super::*;

fn invalid(name: &str) -> NewItem {
    NewItem::Invalid(InvalidItem {
        username: Some(name.into()),
        device_name: None,
        faults: vec![Fault { name: "username".into(), reason: "must be shorter".into() }],
    })
}

const HASH: &str = "$2y$05$bYObCh08.QcSg7laiYrBROaIZsHTKdOvKFTwMGozkm11XaF9pv396";

fn labels() -> Labels {
    Labels::from_stored("\nold=\\n\nsite=hamburg\n").unwrap()
}

#[test]
fn an_encoded_creation_decodes_part_by_part() {
    let password = |n: u32| match n % 3 {
        0 => Some(ChosenPassword::Clear(Password::new(format!("pass\0{n}")).unwrap())),
        1 => Some(ChosenPassword::Hash(ForeignHash::parse(HASH.into()).unwrap())),
        _ => None,
    };
    let valid = |n: u32| {
        NewItem::Valid(ValidItem {
            username: n.is_multiple_of(2).then(|| format!("user-{n}").parse().unwrap()),
            password: password(n),
            device_name: n.is_multiple_of(5).then(|| format!("Gerät {n}").parse().unwrap()),
            labels: if n.is_multiple_of(4) { labels() } else { Labels::NONE },
        })
    };
    let items: Vec<NewItem> =
        (0..1201).map(|n| if n % 7 == 0 { invalid("zu lang") } else { valid(n) }).collect();
    let key = TaskKey::draw();
    let parts = write_creation(&items, &key);
    assert_eq!(parts.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [0, 1, 2]);
    let read = parts.iter().flat_map(|(n, sealed)| read_creation(*n, sealed, &key).unwrap());
    assert_eq!(read.collect::<Vec<_>>(), items);
    assert!(read_creation(1, &parts[0].1, &key).is_err(), "not as another part");
    assert!(read_creation(0, &parts[0].1, &TaskKey::draw()).is_err(), "not with another key");
}

#[test]
fn an_encoded_change_decodes() {
    let named = |index: u32| NamedAccess {
        index,
        id: match index % 3 {
            0 => Err("no identifier".into()),
            _ => Ok(AccessId::from_bytes([index.to_le_bytes()[0]; 16])),
        },
    };
    let ids: Vec<NamedAccess> = (0..700).map(named).collect();
    let parts = write_change(&ids);
    assert_eq!(parts.len(), 2);
    let read = parts.iter().flat_map(|(_, bytes)| read_change(bytes).unwrap());
    assert_eq!(read.collect::<Vec<_>>(), ids);
    let cut = &parts[0].1[..parts[0].1.len() - 1];
    assert!(read_change(cut).is_err());
}
