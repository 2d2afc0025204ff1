"""What happens when a plan meets reality: spot VMs hibernate and resume, and policies react."""
