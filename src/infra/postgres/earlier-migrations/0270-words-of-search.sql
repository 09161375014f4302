-- How the words of a row were split and folded. Rows of before are written anew by a job, and so are those that a server of
-- the release before still writes: it leaves this column as it is, while a newer one claims its version tenfold.
alter table search_rows add column words_version int not null default 1;
create index search_rows_older_words on search_rows (row_id) where words_version < 2;

create function tell_words_version() returns trigger language plpgsql as $$
begin
  new.words_version := case when new.words_version >= 20 then new.words_version / 10 else 1 end;
  return new;
end $$;
create trigger search_rows_words before insert or update of tsv on search_rows
  for each row execute function tell_words_version();
