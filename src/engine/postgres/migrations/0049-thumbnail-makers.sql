-- Which maker found that there is no small picture of something: a better one tries again.
alter table thumbnails add column maker int not null default 0;
