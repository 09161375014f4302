-- Chats that somebody keeps at hand, each for themselves.
create table chat_pins (
  id ulid primary key,
  account_id ulid not null references accounts on delete cascade,
  chat_id ulid not null references chats on delete cascade,
  unique (account_id, chat_id)
);
create index chat_pins_chat on chat_pins (chat_id);
