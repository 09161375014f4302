-- What was learnt of an endpoint at an address, with a key, goes when it is given another, and with the endpoint.
create function forget_connection() returns trigger language plpgsql set search_path from current as $$
begin
  delete from provider_connections where id = old.connection;
  return null;
end $$;
create trigger provider_endpoints_replaced after update of connection on provider_endpoints
  for each row when (old.connection is distinct from new.connection) execute function forget_connection();
create trigger provider_endpoints_deleted after delete on provider_endpoints
  for each row execute function forget_connection();
