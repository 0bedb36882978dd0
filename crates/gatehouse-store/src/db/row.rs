//! Values of statements, and columns of rows, for both drivers.

use std::error::Error;

use rusqlite::types::{ToSqlOutput, ValueRef};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use gatehouse_core::Timestamp;

use crate::error::StoreError;

/// One value of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        // No count gets that large.
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Bytes(value)
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(value: Timestamp) -> Self {
        Self::Integer(value.as_millisecond())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::Bytes(value) => ValueRef::Blob(value),
        }))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(value) => value.to_sql_checked(ty, out),
            Self::Text(value) => value.to_sql_checked(ty, out),
            Self::Bytes(value) => value.to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value that PostgreSQL gets together with its type, so that it needn't infer the type first.
pub(crate) trait TypedValue: ToSql + Sync {
    fn pg_type(&self) -> Type;
}

impl TypedValue for Value<'_> {
    fn pg_type(&self) -> Type {
        match self {
            // PostgreSQL infers the type from the statement.
            Self::Null => Type::UNKNOWN,
            Self::Integer(_) => Type::INT8,
            Self::Text(_) => Type::TEXT,
            Self::Bytes(_) => Type::BYTEA,
        }
    }
}

macro_rules! sent {
    ($($sent:ty => $as:ident),* $(,)?) => {
        $(impl TypedValue for $sent {
            fn pg_type(&self) -> Type {
                Type::$as
            }
        })*
    };
}

sent! {
    &str => TEXT,
    &[&str] => TEXT_ARRAY,
    Vec<&str> => TEXT_ARRAY,
    Vec<Option<&str>> => TEXT_ARRAY,
    Vec<i64> => INT8_ARRAY,
    Vec<Option<i64>> => INT8_ARRAY,
    Vec<&[u8]> => BYTEA_ARRAY,
    Vec<Option<&[u8]>> => BYTEA_ARRAY,
}

/// One column of a row, for callers that copy rows without interpreting them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    /// Borrows the cell as a value of a statement.
    pub(crate) fn as_value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(value) => Value::Integer(*value),
            Self::Text(value) => Value::Text(value),
            Self::Bytes(value) => Value::Bytes(value),
        }
    }
}

/// One row of a query.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

/// Columns are read by their position, as the statement lists them.
impl Row<'_> {
    pub(crate) fn integer(&self, column: usize) -> Result<i64, StoreError> {
        self.get(column)
    }

    pub(crate) fn optional_integer(&self, column: usize) -> Result<Option<i64>, StoreError> {
        self.get(column)
    }

    pub(crate) fn count(&self, column: usize) -> Result<u64, StoreError> {
        u64::try_from(self.integer(column)?).map_err(StoreError::corrupt)
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        self.get(column)
    }

    pub(crate) fn optional_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        self.get(column)
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<Vec<u8>, StoreError> {
        self.get(column)
    }

    /// Borrows a column of bytes, without a copy.
    pub(crate) fn bytes_ref(&self, column: usize) -> Result<&[u8], StoreError> {
        match self {
            Self::Sqlite(row) => {
                let value = row.get_ref(column).map_err(StoreError::corrupt)?;
                value.as_blob().map_err(StoreError::corrupt)
            }
            Self::Postgres(row) => row.try_get(column).map_err(StoreError::corrupt),
        }
    }

    pub(crate) fn optional_bytes(&self, column: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.get(column)
    }

    /// Borrows a text column, without a copy.
    pub(crate) fn text_ref(&self, column: usize) -> Result<&str, StoreError> {
        self.optional_text_ref(column)?.ok_or_else(|| StoreError::corrupt("a text is missing"))
    }

    pub(crate) fn optional_text_ref(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self {
            Self::Sqlite(row) => {
                let value = row.get_ref(column).map_err(StoreError::corrupt)?;
                value.as_str_or_null().map_err(StoreError::corrupt)
            }
            Self::Postgres(row) => row.try_get(column).map_err(StoreError::corrupt),
        }
    }

    pub(crate) fn id(&self, column: usize) -> Result<[u8; 16], StoreError> {
        self.optional_id(column)?.ok_or_else(|| StoreError::corrupt("an identifier is missing"))
    }

    pub(crate) fn optional_id(&self, column: usize) -> Result<Option<[u8; 16]>, StoreError> {
        let bytes: Option<&[u8]> = match self {
            Self::Sqlite(row) => {
                let value = row.get_ref(column).map_err(StoreError::corrupt)?;
                value.as_blob_or_null().map_err(StoreError::corrupt)?
            }
            Self::Postgres(row) => row.try_get(column).map_err(StoreError::corrupt)?,
        };
        let id = bytes.map(<[u8; 16]>::try_from).transpose();
        id.map_err(|_| StoreError::corrupt("an identifier is not 16 bytes"))
    }

    pub(crate) fn time(&self, column: usize) -> Result<Timestamp, StoreError> {
        Timestamp::from_millisecond(self.integer(column)?).map_err(StoreError::corrupt)
    }

    pub(crate) fn optional_time(&self, column: usize) -> Result<Option<Timestamp>, StoreError> {
        let milliseconds: Option<i64> = self.get(column)?;
        milliseconds.map(Timestamp::from_millisecond).transpose().map_err(StoreError::corrupt)
    }

    pub(crate) fn optional_count(&self, column: usize) -> Result<Option<u64>, StoreError> {
        let count: Option<i64> = self.get(column)?;
        count.map(u64::try_from).transpose().map_err(StoreError::corrupt)
    }

    /// Parses a text that was validated when it was written.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, column: usize) -> Result<T, StoreError>
    where
        T::Err: std::fmt::Display,
    {
        self.text_ref(column)?.parse().map_err(StoreError::corrupt)
    }

    pub(crate) fn optional_parsed<T: std::str::FromStr>(
        &self,
        column: usize,
    ) -> Result<Option<T>, StoreError>
    where
        T::Err: std::fmt::Display,
    {
        self.optional_text_ref(column)?.map(str::parse).transpose().map_err(StoreError::corrupt)
    }

    /// Copies the column, whatever its type.
    pub(crate) fn cell(&self, column: usize) -> Result<Cell, StoreError> {
        match self {
            Self::Sqlite(row) => match row.get_ref(column).map_err(StoreError::corrupt)? {
                ValueRef::Null => Ok(Cell::Null),
                ValueRef::Integer(value) => Ok(Cell::Integer(value)),
                ValueRef::Text(_) => self.text(column).map(Cell::Text),
                ValueRef::Blob(value) => Ok(Cell::Bytes(value.to_vec())),
                ValueRef::Real(_) => {
                    Err(StoreError::corrupt("no column has floating-point numbers"))
                }
            },
            Self::Postgres(row) => {
                let kind = row.columns().get(column).map(|column| column.type_().clone());
                Ok(match kind {
                    Some(Type::INT8) => self.get::<Option<i64>>(column)?.map(Cell::Integer),
                    Some(Type::TEXT) => self.optional_text(column)?.map(Cell::Text),
                    Some(Type::BYTEA) => self.optional_bytes(column)?.map(Cell::Bytes),
                    other => {
                        let what = format!("column {column} has the type {other:?}");
                        return Err(StoreError::corrupt(what));
                    }
                }
                .unwrap_or(Cell::Null))
            }
        }
    }

    fn get<T>(&self, column: usize) -> Result<T, StoreError>
    where
        T: rusqlite::types::FromSql + for<'a> tokio_postgres::types::FromSql<'a>,
    {
        match self {
            Self::Sqlite(row) => row.get(column).map_err(StoreError::corrupt),
            Self::Postgres(row) => row.try_get(column).map_err(StoreError::corrupt),
        }
    }
}
