//! A dialect: the form in which one kind of gateway asks whether a device may connect, and is answered.

/// A dialect of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// JSON, for clients of our own API.
    Json,
    /// HTTP Basic, as nginx, Caddy, Traefik, Envoy and NTRIP casters ask.
    Basic,
    /// The HTTP backend of RabbitMQ.
    RabbitMq,
    /// The HTTP authenticator of EMQX.
    Emqx,
    /// The HTTP backend of mosquitto-go-auth.
    Mosquitto,
    /// The webhooks of VerneMQ.
    VerneMq,
    /// The module `rlm_rest` of FreeRADIUS.
    Radius,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 7] = [
        Self::Json,
        Self::Basic,
        Self::RabbitMq,
        Self::Emqx,
        Self::Mosquitto,
        Self::VerneMq,
        Self::Radius,
    ];

    /// The word on the wire and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Basic => "basic",
            Self::RabbitMq => "rabbitmq",
            Self::Emqx => "emqx",
            Self::Mosquitto => "mosquitto",
            Self::VerneMq => "vernemq",
            Self::Radius => "radius",
        }
    }

    /// The dialect with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}
