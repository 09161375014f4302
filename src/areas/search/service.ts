import { implement } from '#engine/context.ts'
import { search } from './contract.ts'
import { find } from './query/find.ts'

export { searchConsumer, searchJobs, searchSchedules } from './index/indexer.ts'

export const searchService = implement(search, { query: (ctx, asked) => find(ctx, asked) })
