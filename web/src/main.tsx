import './styles.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api.ts'
import { takeToken } from './invitations/token.ts'
import { router } from './router.tsx'
import { Toasts } from './ui/dialogs/toast.tsx'

takeToken()

// A page that was open across an update asks for files that are gone: the new page knows the new ones.
window.addEventListener('vite:preloadError', () => {
  // Without a line the files are not gone, and a reload would show the browser’s own page.
  if (navigator.onLine) location.reload()
})

createRoot(document.getElementById('app')!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
