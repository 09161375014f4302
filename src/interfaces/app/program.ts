/** `npm run build`: builds the app into node_modules, for clones and images that are read-only for the server. */
import { tmpdir } from 'node:os'
import { buildApp } from './build.ts'

// A build doesn't keep its process alive, so wait for it.
const waiting = setInterval(() => {}, 1_000)
process.stdout.write(`${await buildApp(tmpdir())}\n`)
clearInterval(waiting)
