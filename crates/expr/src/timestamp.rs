//! Timestamps as the States Language allows them: RFC 3339 with an uppercase `T`, and an
//! uppercase `Z` where there is no numeric offset.
