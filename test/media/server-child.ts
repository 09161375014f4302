/** A server in a process of its own, on a database that is there; says where it is, and waits to be killed. */
import { studioServer } from './studio.ts'

const connection = JSON.parse(process.argv[2]!) as object
const server = await studioServer({
  database: { connection, dataDir: process.argv[3]!, [Symbol.asyncDispose]: async () => {} },
})
process.stdout.write(`${server.origin}\n`)
