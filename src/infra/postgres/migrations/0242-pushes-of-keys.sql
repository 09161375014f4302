-- A browser gets pushes for as long as the key lasts that asked for them, as with a session. Null: a session asked, or nobody knows.
alter table push_subscriptions add column key_id ulid references api_keys on delete cascade;
create index push_subscriptions_key on push_subscriptions (key_id) where key_id is not null;
