// Asynchronous work at a vendor: started by a submit, polled, ended by the script.
import { createHash } from 'node:crypto'
import { failsFirst, type Call } from '../../server.ts'
import type { Json, Making, RecordedRequest, Vendor } from '../../vendor.ts'

export type JobState = 'queued' | 'running' | 'done' | 'failed' | 'moderated' | 'cancelled'

export type Job = {
  id: string
  /** The account of the job. */
  key: string
  /** The request with the vendor's defaults. */
  ask: Json
  making: Making
  /** When it was created, polled, and canceled: milliseconds since the epoch. */
  at: number
  polled: number[]
  cancels: number[]
  /** Set once it has ended. */
  endedAt: number | undefined
  state: JobState
}

/** A vendor that generates images, audio, or video. */
export type MediaVendor = Vendor & {
  /** Started jobs, oldest first, including those whose submit got no answer. */
  jobs: Job[]
  /** The origin of finished files; undefined: the vendor itself. */
  files?: Vendor | undefined
  /** Expires all results so far. */
  expire(): void
  /** How often the same request was sent: the POSTs to each route with equal bodies, in order of the first. */
  submits(): Submit[]
}

export type Submit = { path: string; at: number[]; requests: RecordedRequest[] }

export class Jobs {
  readonly list: Job[] = []

  /** Starts a job; none is stored if the script ends the submit before the model. */
  begin(call: Call, name: string, ask: Json): Job {
    const making = call.behaviour.media ?? {}
    const rest = { polled: [], cancels: [], endedAt: undefined, state: 'queued' as const }
    const job: Job = { id: name, key: call.key ?? '', ask, making, at: Date.now(), ...rest }
    if (!failsFirst(call.behaviour)) this.list.push(job)
    return job
  }

  find(name: string, key: string): Job | undefined {
    return this.list.find((job) => job.id === name && job.key === key)
  }

  /** Counts a poll; the job is queued, runs, and ends after enough polls. */
  poll(job: Job, call: Call): JobState {
    if (failsFirst(call.behaviour)) return job.state
    job.polled.push(Date.now())
    if (job.endedAt !== undefined) return job.state
    const polls = job.making.job?.polls ?? 1
    if (job.polled.length > polls) end(job, endOf(job.making))
    else job.state = job.polled.length === 1 && polls > 1 ? 'queued' : 'running'
    return job.state
  }

  /** False: rejected, or too late. */
  cancel(job: Job, call: Call): boolean {
    if (failsFirst(call.behaviour)) return false
    job.cancels.push(Date.now())
    const how = job.making.job?.cancel
    if (job.endedAt !== undefined || how === 'refused') return false
    if (how !== 'ignored') end(job, 'cancelled')
    return true
  }
}

function end(job: Job, state: JobState): void {
  job.state = state
  job.endedAt = Date.now()
}

function endOf({ moderated: isModerated, job }: Making): JobState {
  if (isModerated) return 'moderated'
  return job?.ends ?? 'done'
}

/** Bodies of forms are equal if they only differ in their boundaries. */
export function submitsOf(requests: RecordedRequest[]): Submit[] {
  const submits = new Map<string, Submit>()
  for (const request of requests.filter(({ method }) => method === 'POST')) {
    const boundary = /boundary="?([^";]+)/.exec(request.headers['content-type'] ?? '')?.[1]
    const text = request.body.toString('latin1')
    const plain = boundary === undefined ? text : text.replaceAll(boundary, 'boundary')
    const name = createHash('sha256').update(`${request.path}\n${plain}`).digest('hex')
    const submit = submits.get(name) ?? { path: request.path, at: [], requests: [] }
    submit.at.push(request.at)
    submit.requests.push(request)
    submits.set(name, submit)
  }
  return [...submits.values()]
}

/** Adds the media functions to a vendor, which is disposed together with its file origin. */
export function mediaVendor(
  vendor: Vendor,
  { jobs = [], files, expire }: { jobs?: Job[]; files?: Vendor | undefined; expire?: () => void },
): MediaVendor {
  const close = vendor[Symbol.asyncDispose].bind(vendor)
  return {
    ...vendor,
    jobs,
    files,
    expire: expire ?? (() => undefined),
    submits: () => submitsOf(vendor.requests),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([close(), files?.[Symbol.asyncDispose]()])
    },
  }
}
