//! Paging: every page size lists each connection once, in the fewest calls, mapped fields only.

use std::sync::Arc;

use super::{Checks, TestBench, Verdict, ids_of, same};
use crate::connector::{CallKind, ProductParts};
use crate::manifest::format::paging::{Next, PageSize, PagingBy};
use crate::testing::one_account::OneAccount;
use crate::testing::recording::Recording;
use crate::testing::replay_platform::FailureMode;

/// Page sizes of the checks.
const SIZES: [u64; 4] = [1000, 100, 7, 1];

/// Page size of a platform with small pages, so that there are several.
const SMALL: u32 = 5;

/// Pages of a live account that are read in each size.
const LIVE_PAGES_MAX: u64 = 3;

pub(in crate::testing::conformance) async fn check(
    checks: &mut Checks,
    bench: &TestBench,
    recording: &Recording,
) {
    total(checks, bench, recording);
    for size in SIZES {
        let name = format!("pages of {size} hold everything once");
        checks.take(name, everything_once(bench, size).await);
    }
    let mut small = crate::Manifest::clone(&bench.manifest);
    small.paging.size = match small.paging.size.fixed {
        Some(_) => PageSize { fixed: Some(SMALL), ..PageSize::default() },
        None => PageSize { max: Some(SMALL), min: None, fixed: None },
    };
    match TestBench::start(&Arc::new(small), recording).await {
        Ok(bench) => {
            for size in SIZES {
                let name = format!(
                    "pages of {size} hold everything once, where the platform's have {SMALL}"
                );
                checks.take(name, everything_once(&bench, size).await);
            }
            for size in SIZES {
                let name = format!(
                    "a page of {size} takes the fewest calls, where the platform's have {SMALL}"
                );
                checks.take(name, fewest_calls(&bench, size).await);
            }
            hostile_links(checks, &bench).await;
        }
        Err(why) => checks.add("a platform with small pages", Verdict::Failed(why)),
    }
    checks.take("only mapped fields come out", no_canary(bench).await);
    details(checks, bench).await;
}

/// Checks that recorded pages give the total where the manifest reads it.
fn total(checks: &mut Checks, bench: &TestBench, recording: &Recording) {
    let name = "recorded pages tell the total where the manifest says";
    let paging = &bench.manifest.paging;
    if paging.total.is_none() {
        checks.add(name, Verdict::DoesNotApply("the platform gives no total".into()));
        return;
    }
    let pages = recording.exchanges().filter(|it| it.kind == CallKind::List && it.status == 200);
    let without_total = pages.filter(|it| paging.total(&it.header_map(), &it.body).is_none());
    let texts =
        without_total.map(|it| format!("`{}`: expected a number, none is there", it.request));
    checks.add(name, super::verdict(texts.collect()));
}

async fn everything_once(bench: &TestBench, size: u64) -> Result<(), String> {
    let account = bench.account()?;
    let expected = bench.ids();
    let mut actual = Vec::new();
    // One page more than there are, which is empty.
    for number in 1..=expected.len() as u64 / size + 2 {
        actual.extend(ids_of(account.page(number, size).await)?);
    }
    same("connections", &expected, &actual)
}

async fn fewest_calls(bench: &TestBench, size: u64) -> Result<(), String> {
    let account = bench.account()?;
    ids_of(account.page(1, size).await)?;
    let (n_all, paging) = (bench.ids().len() as u64, &bench.manifest.paging);
    let n_wanted = n_all.min(size);
    let is_told = paging.total.is_some() || paging.last.is_some() || paging.ends_short;
    let is_told = is_told
        || (paging.by == PagingBy::Cursor && !matches!(paging.next, Some(Next::LastItem(_))));
    // Without an announced end, one further call is needed.
    let n_looks = u64::from(!is_told && size > n_all);
    let n_max = n_wanted.div_ceil(u64::from(SMALL)).max(1) + n_looks;
    let n_calls = account.n_calls(CallKind::List) as u64;
    if n_calls > n_max {
        return Err(format!("expected at most {n_max} calls, {n_calls} were made"));
    }
    Ok(())
}

async fn hostile_links(checks: &mut Checks, bench: &TestBench) {
    let name = "links to other hosts are not followed";
    if !bench.manifest.paging.follows_links() {
        checks.add(name, Verdict::DoesNotApply("no links are followed".into()));
        return;
    }
    bench.platform.fail(FailureMode::HostileLinks);
    let result = async {
        let outcome = bench.account()?.page(1, 1000).await;
        if outcome.failures.is_empty() {
            return Err("expected a failure, none came".to_owned());
        }
        same("calls to other hosts", &0, &bench.platform.n_foreign_host_calls())
    };
    checks.take(name, result.await);
    bench.platform.fail(FailureMode::None);
}

async fn no_canary(bench: &TestBench) -> Result<(), String> {
    let outcome = bench.account()?.page(1, 1000).await;
    let shown = format!("{:?}", outcome.connections);
    ids_of(outcome)?;
    if shown.contains(crate::testing::replay_platform::CANARY) {
        return Err("a member that was planted into the platform's documents came out".into());
    }
    Ok(())
}

async fn details(checks: &mut Checks, bench: &TestBench) {
    let name = "details are read only if needed, in the fewest calls";
    let Some(detail) = &bench.manifest.detail else {
        checks.add(name, Verdict::DoesNotApply("the list leaves nothing out".into()));
        return;
    };
    let result = async {
        let account = bench.account()?;
        ids_of(account.page_with(1, 1000, ProductParts::default()).await)?;
        same("calls for details without need", &0, &account.n_calls(CallKind::Detail))?;
        ids_of(account.page(1, 1000).await)?;
        let n_max = bench.ids().len().div_ceil(detail.at_once.max(1) as usize);
        same("calls for details", &n_max, &account.n_calls(CallKind::Detail))
    };
    checks.take(name, result.await);
}

/// Whether another page follows a full one. If not, `paging` hides connections.
async fn next_page_exists(manifest: &crate::Manifest, account: &OneAccount) -> Verdict {
    let (_, size) = manifest.paging.size.bounds();
    let size = u64::from(size).min(500);
    let pages = async {
        let first = ids_of(account.page(1, size).await)?;
        // Twice the size, so that the second page is read only if the first leads to it.
        let both = ids_of(account.page(1, 2 * size).await)?;
        Ok::<_, String>((first.len() as u64, both.len() as u64))
    };
    match pages.await {
        Err(why) => Verdict::Failed(why),
        Ok((n_first, _)) if n_first < size => {
            let why = format!("the account has only {n_first} connections, and a page {size}");
            Verdict::DoesNotApply(why)
        }
        Ok((_, n_both)) if n_both <= size => Verdict::Failed(format!(
            "the first page of {size} came full, and no page follows it: unless the account has exactly \
             {size} connections, `paging` doesn't lead to the next page"
        )),
        Ok(_) => Verdict::Passed,
    }
}

pub(in crate::testing::conformance) async fn check_live(
    checks: &mut Checks,
    manifest: &crate::Manifest,
    account: &OneAccount,
) {
    checks.add("a full page leads to the next", next_page_exists(manifest, account).await);
    let mut first: Option<Vec<String>> = None;
    for size in SIZES {
        let result = async {
            let mut actual = Vec::new();
            for number in 1..=LIVE_PAGES_MAX {
                if size < 100 || number == 1 {
                    actual.extend(ids_of(account.page(number, size).await)?);
                }
            }
            let mut once = actual.clone();
            once.sort_unstable();
            once.dedup();
            same("connections that came more than once", &once.len(), &actual.len())?;
            let all = first.get_or_insert_with(|| actual.clone());
            let n = actual.len().min(all.len());
            same("the same list at any size", &all[..n].to_vec(), &actual[..n].to_vec())
        };
        checks.take(format!("pages of {size} show the same list, each once"), result.await);
    }
}
