/**
 * `npm run build`: brings the dependencies, as bin/run does before every program, and builds the app beside them. For a clone or
 * an image that whoever runs the server may only read.
 */
import { tmpdir } from 'node:os'
import { buildApp } from './build.ts'

// A build keeps no server from ending, and so not this program.
const waiting = setInterval(() => {}, 1_000)
process.stdout.write(`${await buildApp(tmpdir())}\n`)
clearInterval(waiting)
