-- How often a run was taken over from a process that was no more. Its fence grows with every claim, also when a person
-- has allowed a call and it goes on.
alter table runs add column adoptions int not null default 0;
