//! A simulated server: the service with its workers and heartbeat, as `serve` starts it, without listeners.

use std::sync::{Arc, LazyLock, Mutex};

use gatehouse_connectors::Platforms;
use gatehouse_core::CurrentShare;
use gatehouse_store::{Clock, Store};
use gatehouse_vault::{MasterKeys, Vault};

use super::limits::{REQUESTS_PER_SECOND, RETENTION_MILLISECONDS, SKEW_MILLISECONDS_MAX};
use super::network::ServerLink;
use super::world::World;
use crate::app::App;
use crate::config::{Config, Duration, Tasks};
use crate::rate::RateLimiter;
use crate::work::{Heartbeat, Workers};

/// Retention of passwords: the keys of the first batches are destroyed during the load.
const PASSWORD_RETENTION: Duration = Duration::seconds(5);

/// Created once: it takes longer than a simulation, and no platform is called.
static PLATFORMS: LazyLock<Arc<Platforms>> = LazyLock::new(|| {
    let options = Config::default().platforms.options(Default::default());
    Arc::new(Platforms::new(options).unwrap())
});

pub(super) struct Server {
    pub(super) app: App,
    pub(super) rates: RateLimiter,
    pub(super) link: Arc<ServerLink>,
    workers: Mutex<Option<Workers>>,
}

impl Server {
    pub(super) async fn start(world: &Arc<World>, number: usize) -> Arc<Self> {
        let link = ServerLink::new(world, number);
        let store =
            Store::open_in_memory(&world.database, Arc::clone(&link) as _, world.clock.clone());
        let (store, clock) =
            (store.await.unwrap().with_failpoints(link.failpoints()), skewed(world));
        let keys = MasterKeys::parse(&"5e".repeat(32)).unwrap();
        let tasks = Tasks {
            workers: world.plan.n_workers,
            password_retention: PASSWORD_RETENTION,
            retention: Duration::milliseconds(RETENTION_MILLISECONDS.cast_unsigned()),
        };
        let app = App::new(store, Arc::new(Vault::new(&keys)), clock, tasks, PLATFORMS.clone());
        let app = App { share: CurrentShare::default(), ..app }.with_failed_checks(0);
        let rates = RateLimiter::new(REQUESTS_PER_SECOND, app.share.clone());
        let heartbeat = Heartbeat::begin(&app, ([127, 0, 0, 1], 8080).into()).await.unwrap();
        world.log(|| format!("server {number} joins"));
        world.model().add_server(number);
        link.arm();
        let workers = Workers::start(&app, heartbeat);
        let server = Arc::new(Self { app, rates, link, workers: Mutex::new(Some(workers)) });
        tokio::spawn(Arc::clone(&server).stop_when_dead());
        server
    }

    /// Stops the loops of a dead server, whose calls never arrive.
    async fn stop_when_dead(self: Arc<Self>) {
        self.link.died.cancelled().await;
        let workers = self.workers.lock().unwrap().take();
        if let Some(workers) = workers {
            workers.stop().await;
        }
    }

    /// Stops the workers gracefully, unless the server dies before.
    pub(super) async fn leave(&self) {
        let Some(workers) = self.workers.lock().unwrap().take() else { return };
        tokio::select! {
            biased;
            () = self.link.died.cancelled() => {}
            () = workers.stop() => {}
        }
    }
}

/// A server's clock, with skew.
fn skewed(world: &World) -> Clock {
    let most = world.plan.skew_milliseconds.cast_signed().min(SKEW_MILLISECONDS_MAX);
    let skew = world.random().roll(2 * most.cast_unsigned() + 1).cast_signed() - most;
    Clock::of_runtime(world.now().plus_milliseconds(skew))
}
