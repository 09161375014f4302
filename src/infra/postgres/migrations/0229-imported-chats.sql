-- Chats that were brought from elsewhere, by what they are known by there: brought again with another time each is the same.
create table imported_chats (
  workspace_id ulid not null references workspaces on delete cascade,
  source text not null,
  external_id text not null,
  chat_id ulid not null references chats on delete cascade,
  primary key (workspace_id, source, external_id)
);
create index imported_chats_chat on imported_chats (chat_id);
