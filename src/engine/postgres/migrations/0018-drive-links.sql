-- Links to a file's bytes die when it is trashed, for good: they are signed with how often that has happened.
alter table files add trashings int not null default 0;
