// In the head, before the page is painted: the theme that the person chose last time.
try {
  const theme = localStorage.getItem('theme');
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* storage is forbidden: the system's theme stays */ }
