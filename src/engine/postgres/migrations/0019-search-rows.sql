-- What can be found by words and by meaning: a row per file, chat, message, agent, … Access is not kept here but followed
-- from the register in the transaction that changes it, so that a find never shows more than a list.
create table search_rows (
  row_id bigint generated always as identity primary key,
  type text not null,
  -- of what is found
  id ulid not null unique,
  -- whose workspace and status count: its own, or its chat's
  resource_id ulid not null references resources on delete cascade,
  workspace_id ulid not null,
  hidden boolean not null,
  title text not null,
  tsv tsvector not null,
  -- the folder of a file, the chat of a message
  parent_id ulid,
  -- the model whose vectors there are, null while there are none
  embedded text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
  -- What follows the register touches no index, so half-full pages let it be cheap.
) with (fillfactor = 80);
-- Long vectors of words lie apart: who looks for rows reads little.
alter table search_rows alter column tsv set storage external;
alter table search_rows set (toast_tuple_target = 256);
create index search_rows_resource on search_rows (resource_id);
create index search_rows_tsv on search_rows using gin (tsv);
create index search_rows_title on search_rows using gin (title gin_trgm_ops);
create index search_rows_unembedded on search_rows (row_id) where embedded is null;

create table search_bodies (
  row_id bigint primary key references search_rows on delete cascade,
  body text not null
);

-- Vectors of passages, as float4 in network order, and their signs as bits, which are compared first.
create table search_vectors (
  row_id bigint not null references search_rows on delete cascade,
  chunk int not null,
  model text not null,
  type text not null,
  workspace_id ulid not null,
  hidden boolean not null,
  bits bit varying not null,
  vector bytea not null,
  primary key (row_id, chunk)
) with (fillfactor = 80);
alter table search_vectors alter column vector set storage external;
alter table search_vectors set (toast_tuple_target = 128);

create function follow_resource() returns trigger language plpgsql as $$
begin
  update search_rows set workspace_id = new.workspace_id, hidden = new.status = 'trashed' where resource_id = new.id;
  update search_vectors v set workspace_id = new.workspace_id, hidden = new.status = 'trashed'
    from search_rows s where s.resource_id = new.id and v.row_id = s.row_id;
  return null;
end $$;
create trigger resources_followed after update on resources for each row
  when (old.status is distinct from new.status or old.workspace_id is distinct from new.workspace_id)
  execute function follow_resource();
