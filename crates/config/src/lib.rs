//! `everstep.yaml`: functions, state machines and their policies, read with every problem in its place.
