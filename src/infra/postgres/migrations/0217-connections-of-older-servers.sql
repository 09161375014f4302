-- A server of an older version beside a newer one makes endpoints too, and knows nothing of connections.
alter table provider_endpoints
  alter column connection set default '0' || upper(left(replace(gen_random_uuid()::text, '-', ''), 25));
