import type { Id } from '#core/ids.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import type { DeliveredEvent } from '../../outbox/deliveries.ts'
import type { TextSources } from './contents.ts'

export interface SearchDocument {
  type: 'file' | 'note' | 'repository' | 'chat' | 'message' | 'agent' | 'computer'
  id: Id
  /** The resource that determines access: its own register row, or its chat's. */
  resource_id: Id
  parent_id: Id | null
  title: string
  /** Words that count like the body's but aren't shown, such as a path. */
  keywords: string
  body: string
  created_at: Date
  updated_at: Date
}

export interface SearchSources extends TextSources {
  jobs: Jobs
}

export interface Searchable {
  /** Event prefixes of its resources: `chat` of `chat.updated`. */
  kinds: readonly string[]
  findChanged(sources: SearchSources, events: readonly DeliveredEvent[]): Promise<Id[]>
  /** Current documents among these IDs. Missing ones are removed from the index. */
  read(sources: SearchSources, ids: readonly Id[]): Promise<SearchDocument[]>
  all(sources: SearchSources, after: Id | null, limit: number): Promise<Id[]>
}

export const MAX_BODY = 100_000
