/** A server process with a lease and a running job. Waits to be killed. */
import { createLeases } from '#infra/processes/leases.ts'
import { createLog } from '#infra/log.ts'
import { connectPostgres } from '#infra/postgres/client.ts'
import { startJobs } from '#infra/jobs/jobs.ts'
import { startProcess } from '#infra/processes/processes.ts'

const log = createLog('error')
const postgres = connectPostgres(JSON.parse(process.argv[2]!), () => {})
const lease = await startProcess({ postgres, log })
await createLeases({ postgres, processId: lease.id, log }).acquire('one', 600)
const jobs = await startJobs({ postgres, process: lease, log })
await jobs.work({
  'test.long': async () => {
    process.stdout.write('working\n')
    await new Promise(() => {})
  },
})
await jobs.add(postgres, 'test.long', { n: 1 })
