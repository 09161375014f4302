-- Consents that were given over /mcp and used: each lets one call go. Kept until they would have expired by themselves.
create table consents_used (
  id ulid primary key,
  expires_at timestamptz(3) not null
);
create index consents_used_expiry on consents_used (expires_at);
