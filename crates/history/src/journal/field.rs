//! What a field of an event looks like in a record.

use std::sync::Arc;

use super::Error;
use super::reader::Reader;
use super::writer::Writer;
use crate::{Attempt, Failure, FailureStage, FrameId, Payload};

/// `'e` is how long the events are there that are written.
pub(super) trait Field<'e> {
    /// Whether it says what [`Self::absent`] says.
    fn is_absent(&self, first_ms: i64) -> bool;

    fn write(&'e self, writer: &mut Writer<'e>);

    /// What a record says by leaving it out; nothing if it has to be there.
    fn absent(first_ms: i64) -> Option<Self>
    where
        Self: Sized;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error>
    where
        Self: Sized;
}

/// Every signed number is a time, and most are that of the first event. Differences wrap, so that
/// any two times have one.
impl<'e> Field<'e> for i64 {
    fn is_absent(&self, first_ms: i64) -> bool {
        *self == first_ms
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.signed(self.wrapping_sub(writer.first_ms));
    }

    fn absent(first_ms: i64) -> Option<Self> {
        Some(first_ms)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(reader.signed()?.wrapping_add(reader.first_ms))
    }
}

impl<'e> Field<'e> for u64 {
    fn is_absent(&self, _: i64) -> bool {
        *self == 0
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.unsigned(*self);
    }

    fn absent(_: i64) -> Option<Self> {
        Some(0)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        reader.unsigned()
    }
}

impl<'e> Field<'e> for u32 {
    fn is_absent(&self, _: i64) -> bool {
        *self == 0
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.unsigned(u64::from(*self));
    }

    fn absent(_: i64) -> Option<Self> {
        Some(0)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let number = reader.unsigned()?;
        number.try_into().map_err(|_| reader.damaged(format!("{number} is out of range")))
    }
}

/// Its bits, so that it is read as it was written.
impl<'e> Field<'e> for f64 {
    fn is_absent(&self, _: i64) -> bool {
        self.to_bits() == 0
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.unsigned(self.to_bits());
    }

    fn absent(_: i64) -> Option<Self> {
        Some(0.0)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        reader.unsigned().map(Self::from_bits)
    }
}

impl<'e> Field<'e> for FrameId {
    fn is_absent(&self, first_ms: i64) -> bool {
        self.0.is_absent(first_ms)
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        self.0.write(writer);
    }

    fn absent(_: i64) -> Option<Self> {
        Some(Self::ROOT)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        u32::read(reader).map(Self)
    }
}

impl<'e> Field<'e> for bool {
    fn is_absent(&self, _: i64) -> bool {
        !self
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.bool(*self);
    }

    fn absent(_: i64) -> Option<Self> {
        Some(false)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        reader.bool()
    }
}

impl<'e> Field<'e> for Payload {
    fn is_absent(&self, _: i64) -> bool {
        false
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.payload(self);
    }

    fn absent(_: i64) -> Option<Self> {
        None
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        reader.payload()
    }
}

impl<'e> Field<'e> for Arc<str> {
    fn is_absent(&self, _: i64) -> bool {
        false
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.word(self);
    }

    fn absent(_: i64) -> Option<Self> {
        None
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        reader.word()
    }
}

impl<'e, T: Field<'e>> Field<'e> for Option<T> {
    fn is_absent(&self, _: i64) -> bool {
        self.is_none()
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        match self {
            Some(value) => value.write(writer),
            None => writer.null(),
        }
    }

    fn absent(_: i64) -> Option<Self> {
        Some(None)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        if reader.is_null()? { Ok(None) } else { T::read(reader).map(Some) }
    }
}

impl<'e> Field<'e> for Attempt {
    fn is_absent(&self, _: i64) -> bool {
        false
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.fields(None, &[&self.number, &self.frame]);
    }

    fn absent(_: i64) -> Option<Self> {
        None
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = reader.fields()?;
        let number = fields.next(reader, "number")?;
        let frame = fields.next(reader, "frame")?;
        fields.end(reader)?;
        Ok(Self { frame, number })
    }
}

impl<'e> Field<'e> for Failure {
    fn is_absent(&self, _: i64) -> bool {
        *self == Self::default()
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.fields(None, &[&self.error, &self.cause]);
    }

    fn absent(_: i64) -> Option<Self> {
        Some(Self::default())
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = reader.fields()?;
        let error = fields.next(reader, "error")?;
        let cause = fields.next(reader, "cause")?;
        fields.end(reader)?;
        Ok(Self { error, cause })
    }
}

impl<'e> Field<'e> for FailureStage {
    fn is_absent(&self, _: i64) -> bool {
        *self == Self::Run
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.unsigned(match self {
            Self::Run => 0,
            Self::Schedule => 1,
            Self::Start => 2,
            Self::Submit => 3,
        });
    }

    fn absent(_: i64) -> Option<Self> {
        Some(Self::Run)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        match reader.unsigned()? {
            0 => Ok(Self::Run),
            1 => Ok(Self::Schedule),
            2 => Ok(Self::Start),
            3 => Ok(Self::Submit),
            unknown => Err(reader.newer(format!("failure stage {unknown}"))),
        }
    }
}

/// Variables: names and values in turn.
impl<'e> Field<'e> for Vec<(Arc<str>, Payload)> {
    fn is_absent(&self, _: i64) -> bool {
        self.is_empty()
    }

    fn write(&'e self, writer: &mut Writer<'e>) {
        writer.array(self.len() * 2);
        for (name, value) in self {
            writer.word(name);
            writer.payload(value);
        }
    }

    fn absent(_: i64) -> Option<Self> {
        Some(Self::new())
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let length = reader.array()?;
        if length % 2 != 0 {
            return Err(reader.damaged("a variable without a value"));
        }
        let mut variables = Self::with_capacity(reader.bounded(length) / 2);
        for _ in 0..length / 2 {
            variables.push((reader.word()?, reader.payload()?));
        }
        Ok(variables)
    }
}
