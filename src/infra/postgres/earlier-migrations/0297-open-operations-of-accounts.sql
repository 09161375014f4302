-- Counted before each new operation.
create index operations_open_of on operations (account_id) where status in ('queued', 'running');
