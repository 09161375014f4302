-- Commands in the background that may live on a computer, from before they begin until their end is known. One whose operation
-- has ended otherwise is ended there as soon as its computer is linked, whatever became of the server that was asked to.

create table computer_commands (
  operation_id ulid primary key,
  computer_id ulid not null references computers on delete cascade,
  created_at timestamptz(3) not null default now()
);
create index computer_commands_computer on computer_commands (computer_id);
