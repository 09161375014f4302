-- Whole vectors apart from their signs: a row under 2 KB is never taken apart by itself, and who compares signs must not
-- read the vectors along with them.
create table search_passages (
  row_id bigint not null,
  chunk int not null,
  vector bytea not null,
  primary key (row_id, chunk),
  foreign key (row_id, chunk) references search_vectors on delete cascade
);
alter table search_passages alter column vector set storage external;
insert into search_passages select row_id, chunk, vector from search_vectors;
alter table search_vectors drop column vector;
