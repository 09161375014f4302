import type { DeliveredMedia, MediaRequest } from '../adapter.ts'

/** The probed length wins over the vendor's, which may leave out silence. Billed usage isn't changed. */
export function withLength(request: MediaRequest, result: DeliveredMedia): DeliveredMedia {
  if (result.kind !== 'transcript' || request.kind !== 'transcription') return result
  const durationSeconds = request.sound.durationSeconds ?? result.transcript.durationSeconds
  return {
    ...result,
    transcript: { ...result.transcript, durationSeconds },
    units: { ...(durationSeconds !== null && { audioSeconds: durationSeconds }), ...result.units },
  }
}
