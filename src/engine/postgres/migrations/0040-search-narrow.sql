-- Signs of vectors, which a question by meaning is held against all at once: rows as narrow as can be, and one number for
-- all that decides whether a caller may see one of them, but for what is in the trash.
create function search_space(model text, dimensions int, type text, workspace_id text) returns bigint
  language sql immutable parallel safe as
  $$ select ('x' || left(encode(sha256(convert_to(concat_ws(' ', model, dimensions, type, workspace_id), 'UTF8')), 'hex'), 16))::bit(64)::bigint $$;

create table search_signs (
  row_id bigint not null,
  space bigint not null,
  chunk int not null,
  hidden boolean not null,
  bits bit varying not null
) with (fillfactor = 90);
insert into search_signs select row_id, search_space(model, length(bits), type, workspace_id), chunk, hidden, bits
  from search_vectors order by row_id, chunk;
alter table search_passages drop constraint search_passages_row_id_chunk_fkey;
drop table search_vectors;
alter table search_signs rename to search_vectors;
alter table search_vectors add primary key (row_id, chunk),
  add foreign key (row_id) references search_rows on delete cascade;
create index search_vectors_space on search_vectors (space);
alter table search_passages add foreign key (row_id, chunk) references search_vectors on delete cascade;

-- Words of few thousands of rows at a time, the newest first, and of some workspaces: a word that is everywhere costs no
-- more than what is ranked of it.
create index search_rows_words on search_rows
  using gin (tsv, (array[(row_id >> 12)::int4]), (array[workspace_id::text]));
drop index search_rows_tsv;

create or replace function follow_resource() returns trigger language plpgsql as $$
begin
  update search_rows set workspace_id = new.workspace_id, hidden = new.status = 'trashed' where resource_id = new.id;
  if new.workspace_id is distinct from old.workspace_id then
    -- Of words that were written anew since: they wait for other vectors.
    delete from search_vectors v using search_rows s where s.resource_id = new.id and v.row_id = s.row_id and s.embedded is null;
    update search_vectors v set space = search_space(s.embedded, length(v.bits), s.type, s.workspace_id)
      from search_rows s where s.resource_id = new.id and v.row_id = s.row_id;
  end if;
  update search_vectors v set hidden = new.status = 'trashed'
    from search_rows s where s.resource_id = new.id and v.row_id = s.row_id and v.hidden <> (new.status = 'trashed');
  return null;
end $$;
