import type { Id } from '#core/ids.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import type { DeliveredEvent } from '../../outbox/deliveries.ts'
import type { TextSources } from './contents.ts'

/** A document that search finds, as its area tells of it. */
export interface SearchDocument {
  type: 'file' | 'note' | 'repository' | 'chat' | 'message' | 'agent' | 'computer'
  id: Id
  /** The resource whose workspace and status decide who may find it: its own row in the register, or its chat's. */
  resource_id: Id
  parent_id: Id | null
  title: string
  /** Words that count like those of the body but are not shown, such as a path. */
  keywords: string
  body: string
  created_at: Date
  updated_at: Date
}

/** The means by which an area reads its documents; those that take long are left to a job. */
export interface SearchSources extends TextSources {
  jobs: Jobs
}

/** An area's things, as search indexes and finds them. */
export interface Searchable {
  /** The first word of the events that tell of its things: `chat` of `chat.updated`. */
  kinds: readonly string[]
  /** The ids of the documents that an event may have changed. */
  findChanged(sources: SearchSources, events: readonly DeliveredEvent[]): Promise<Id[]>
  /** The documents of these that are to be found now. One that is left out is taken from the index. */
  read(sources: SearchSources, ids: readonly Id[]): Promise<SearchDocument[]>
  /** All ids after this one, in order, for indexing anew. */
  all(sources: SearchSources, after: Id | null, limit: number): Promise<Id[]>
}

/** The characters of a text that are searched by its words. */
export const MOST_BODY = 100_000
