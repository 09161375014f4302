// Before anything is painted: the theme that was chosen last on this device; the system's when none was.
try {
  const theme = localStorage.getItem('ukiyo.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {}
