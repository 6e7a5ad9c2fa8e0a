//! The operations of the service.

/// What the header `X-Amz-Target` begins with.
pub const TARGET: &str = "AmazonSQS.";

macro_rules! operations {
    ($($name:ident)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Operation { $($name),+ }

        impl Operation {
            /// Each of them, by name.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }
        }
    };
}

operations! {
    AddPermission CancelMessageMoveTask ChangeMessageVisibility ChangeMessageVisibilityBatch CreateQueue DeleteMessage
    DeleteMessageBatch DeleteQueue GetQueueAttributes GetQueueUrl ListDeadLetterSourceQueues ListMessageMoveTasks
    ListQueueTags ListQueues PurgeQueue ReceiveMessage RemovePermission SendMessage SendMessageBatch SetQueueAttributes
    StartMessageMoveTask TagQueue UntagQueue
}

impl Operation {
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }

    /// Whether it stores something new: refused while there is no room on the disk.
    #[must_use]
    pub fn is_new_work(self) -> bool {
        matches!(self, Self::CreateQueue | Self::SendMessage | Self::SendMessageBatch)
    }
}
