-- A browser gets pushes for as long as the session lasts that asked for them. Null: a key asked.
alter table push_subscriptions add column session_id ulid references sessions on delete cascade;
create index push_subscriptions_session on push_subscriptions (session_id);
