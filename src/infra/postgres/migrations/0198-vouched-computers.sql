-- Whether somebody who manages the workspace that a computer belongs to stands for what it says: they brought it there, or
-- mapped one of its models. Else its models serve there as those of a computer that is lent.

alter table computers add column vouched boolean not null default true;
alter table computers alter column vouched set default false;
