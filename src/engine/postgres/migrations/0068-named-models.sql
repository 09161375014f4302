-- The model that a message named when it was sent; null: its chat chooses, and chooses anew for each retry.
alter table runs add column named_model text;
-- Messages of before did not keep whether they named one. Their senders were told that a retry takes the model that was
-- tried, so it does; only what has not ended otherwise can be tried again.
update runs set named_model = model where status in ('queued', 'running', 'requires_action', 'failed');
