-- Secrets of outgoing webhooks that were rotated away and still sign: as many as there were rotations meanwhile.
create table webhook_endpoint_secrets (
  id ulid primary key,
  endpoint_id ulid not null references webhook_endpoints on delete cascade,
  sealed_secret text not null,
  expires_at timestamptz(3) not null
);
create index webhook_endpoint_secrets_of on webhook_endpoint_secrets (endpoint_id, id desc);
-- `previous_expires_at` of an endpoint is when the last of them ends; its `previous_secret` is one of before this table.
