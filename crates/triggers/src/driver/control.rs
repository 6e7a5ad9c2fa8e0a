//! What people ask of a trigger.

use super::intake::{Waiting, Way};
use super::{Driver, Request};
use crate::event;
use crate::item::{Item, Refused};
use crate::plan::Origin;

impl Driver {
    pub(super) fn pause(&mut self, handle: u64, requests: &mut Vec<Request>) {
        self.confirmations.push(handle);
        self.record.paused = true;
        self.stop(requests);
    }

    /// Continues with what comes from now on. What was blocked is sent back.
    pub(super) fn resume(&mut self, handle: u64, now_ms: i64, requests: &mut Vec<Request>) {
        self.confirmations.push(handle);
        self.is_dirty = true;
        let was_stopped = self.is_stopped();
        self.record.paused = false;
        self.redrive_blocked(requests);
        if was_stopped && !self.is_stopped() {
            self.fetch_after_ms = now_ms;
            self.take_up_timer(now_ms);
        }
    }

    /// Who can be told when the next write is durable. What is being sent back is blocked until its row has followed it.
    pub(super) fn confirmable(&mut self) -> Vec<u64> {
        match self.is_redriving() {
            true => Vec::new(),
            false => std::mem::take(&mut self.confirmations),
        }
    }

    pub(super) fn stop(&mut self, requests: &mut Vec<Request>) {
        self.is_dirty = true;
        if let Some(clockwork) = &mut self.record.clockwork {
            clockwork.stop();
        }
        self.refuse_waiting(requests);
    }

    /// What was brought and is not accepted goes back, but for what was fired by hand.
    pub(super) fn refuse_waiting(&mut self, requests: &mut Vec<Request>) {
        // A fetch that is under way begins after what is given back.
        self.fetching = None;
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting.way {
                Way::Fetched | Way::Offered => {
                    self.refuse(waiting.item.handle, Refused::Stopped, requests);
                }
                Way::Fired | Way::Made(_) => self.waiting.push_back(waiting),
            }
        }
    }

    pub(super) fn fired(
        &mut self,
        id: String,
        payload: Option<Vec<u8>>,
        handle: u64,
        now_ms: i64,
        requests: &mut Vec<Request>,
    ) {
        let payload = payload.or_else(|| self.timer_event(&id, None, now_ms));
        let Some(payload) = payload else {
            return self.refuse(handle, Refused::NeedsPayload, requests);
        };
        let item =
            Item { id, payload, unparseable: false, position: None, delivery_count: None, handle };
        self.bring(item, Way::Fired, requests);
    }

    /// A run that is not scheduled, if the timer wants one when the server starts.
    pub(super) fn run_on_startup(&mut self, now_ms: i64) {
        let wanted = match &self.plan.origin {
            Origin::Timer(timer) => timer.run_on_startup && self.plan.is_startup,
            Origin::Fetched { .. } | Origin::Offered => false,
        };
        if wanted && !self.is_stopped() {
            let startup: Waiting =
                self.made(format!("startup-{}", event::tick_id(now_ms)), None, now_ms);
            self.waiting.push_back(startup);
        }
    }
}
