import type { Delivered, MediaRequest } from '../adapter.ts'

/**
 * A transcript with the length of its recording. The probed length wins over what the vendor says of the recording, which may
 * leave out silence; the vendor's number is used where the recording's length couldn't be probed. Usage that the vendor
 * bills by (`usage` of its answer) stays as it is.
 */
export function withLength(request: MediaRequest, delivered: Delivered): Delivered {
  if (delivered.kind !== 'transcript' || request.kind !== 'transcription') return delivered
  const durationSeconds = request.sound.durationSeconds ?? delivered.transcript.durationSeconds
  return {
    ...delivered,
    transcript: { ...delivered.transcript, durationSeconds },
    units: { ...(durationSeconds !== null && { audioSeconds: durationSeconds }), ...delivered.units },
  }
}
