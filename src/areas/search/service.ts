import { implement } from '#engine/context.ts'
import { search } from './contract.ts'
import { find } from './find.ts'

export { searchConsumer, searchJobs, searchSchedules } from './indexer.ts'

export const searchService = implement(search, { query: (ctx, asked) => find(ctx, asked) })
