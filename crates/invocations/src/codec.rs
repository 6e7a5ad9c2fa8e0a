//! How types of other crates are written into records.

/// A policy as its JSON.
pub(crate) mod policy {
    use everstep_retry::Policy;
    use minicbor::decode::{Decoder, Error};
    use minicbor::encode::{self, Encoder, Write};

    pub(crate) fn encode<C, W: Write>(
        policy: &Policy,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        let text = serde_json::to_string(policy).map_err(encode::Error::message)?;
        e.str(&text)?.ok()
    }

    pub(crate) fn decode<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Policy, Error> {
        serde_json::from_str(d.str()?).map_err(Error::message)
    }
}

/// A class as a number.
pub(crate) mod class {
    use everstep_retry::Class;
    use minicbor::decode::{Decoder, Error};
    use minicbor::encode::{self, Encoder, Write};

    const ALL: [Class; 4] = [Class::User, Class::Runtime, Class::Timeout, Class::DataLimitExceeded];

    pub(crate) fn encode<C, W: Write>(
        class: &Class,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        let number = match class {
            Class::User => 0,
            Class::Runtime => 1,
            Class::Timeout => 2,
            Class::DataLimitExceeded => 3,
        };
        e.u8(number)?.ok()
    }

    pub(crate) fn decode<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Class, Error> {
        let number = usize::from(d.u8()?);
        ALL.get(number).copied().ok_or_else(|| Error::message("no such class of errors"))
    }
}

/// A count that takes no room where it is zero: records from before it was kept have none.
pub(crate) mod count {
    use minicbor::decode::{Decoder, Error};
    use minicbor::encode::{self, Encoder, Write};

    pub(crate) fn encode<C, W: Write>(
        count: &u32,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        e.u32(*count)?.ok()
    }

    pub(crate) fn decode<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<u32, Error> {
        d.u32()
    }

    pub(crate) fn is_nil(count: &u32) -> bool {
        *count == 0
    }

    pub(crate) fn nil() -> Option<u32> {
        Some(0)
    }
}

/// Lines that take no room where there are none.
pub(crate) mod lines {
    use minicbor::decode::{Decoder, Error};
    use minicbor::encode::{self, Encoder, Write};

    pub(crate) fn encode<C, W: Write>(
        lines: &[String],
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        e.encode(lines)?.ok()
    }

    pub(crate) fn decode<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Vec<String>, Error> {
        d.decode()
    }

    pub(crate) fn is_nil(lines: &[String]) -> bool {
        lines.is_empty()
    }

    pub(crate) fn nil() -> Option<Vec<String>> {
        Some(Vec::new())
    }
}
